// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sink/block.hpp"
#include "sink/block_output.hpp"
#include "sink/raw_file.hpp"

namespace spead::sink {

/// Writes records one after the other to files, and an index line for each that the file has. Between the
/// caller, which copies records into blocks, and the disk is a thread of its own. Memory is bounded: without
/// a free block, the caller waits.
///
/// A record's line is written once the kernel has written all of its bytes. So after the process was killed,
/// every line tells of bytes that are in the file. After an error of the disk, no further record is written.
///
/// One thread at a time adds records.
class RawWriter {
  public:
    /// Says once what became of a record: written with its line, or lost. Mostly on the writer's thread.
    using Settled = std::function<void(bool written)>;

    struct Options {
        std::size_t block_bytes = std::size_t{1} << 20;      ///< whole sectors
        std::size_t blocks = 16;                             ///< at least 2
        std::uint64_t reserve = std::uint64_t{64} << 20;     ///< bytes of room taken at once; 0: none
        std::uint64_t rotate_size = 0;                       ///< begins the next file at this size; 0: never
        bool file_per_record = false;                        ///< begins a file with each record
        std::size_t most_line_bytes = std::size_t{8} << 20;  ///< of lines that wait for their records
        std::chrono::milliseconds idle{100};  ///< after which a block is written before it is full
        Way way = Way::automatic;
    };
    /// Holds the line of a record whose bytes the kernel has written, and where they end.
    struct Note {
        std::shared_ptr<RawFile> file;  ///< null: it has no bytes
        std::uint64_t end = 0;          ///< in the file
        std::string line;
    };
    /// Connects the writer to the names on the disk.
    struct Hooks {
        /// Opens the next file. The caller's thread. Throws Error.
        std::function<std::shared_ptr<RawFile>()> open;
        /// Removes a file that has no record. Any thread.
        std::function<void(const RawFile&)> remove;
        /// Appends lines to the index, in their order. Returns 0, or errno; `written` gets the number that it
        /// has. The writer's thread.
        std::function<int(std::span<const Note> notes, std::uint64_t& written)> append;
        /// Is called each Options::idle while there is nothing to write; may be null. Returns 0, or errno.
        /// The writer's thread.
        std::function<int()> idle;
        /// Tells the first error of the disk: the file, or empty for the index, and errno. The writer's
        /// thread.
        std::function<void(const std::string& file, int error)> failed;
        /// Tells of files that are written through the page cache, once. The writer's thread.
        std::function<void()> no_direct;
    };
    /// Makes a record's line, with its newline. `file`: null for a record without bytes.
    using MakeLine = std::function<std::string(const RawFile* file, std::uint64_t offset)>;

    /// Counts what the disk has.
    struct Written {
        std::uint64_t records = 0;  ///< with bytes
        std::uint64_t bytes = 0;
        std::uint64_t lines = 0;
    };

    /// Throws Error when there is no memory. The first record starts the thread.
    RawWriter(const Options& options, Hooks hooks);
    /// Finishes.
    ~RawWriter();
    RawWriter(const RawWriter&) = delete;
    RawWriter& operator=(const RawWriter&) = delete;

    /// Copies a record, and writes it later. Waits while the disk is behind. Returns false when the disk has
    /// failed; then `settled` was or will be called with false. Throws Error as `open`; then `settled` is not
    /// called.
    bool add(std::span<const std::span<const std::byte>> parts, const MakeLine& line, const Settled& settled);
    /// Returns the bytes of the largest record that need not wait for the disk. The thread that adds.
    std::size_t room() const;
    /// Waits until all records are settled.
    void settle();
    /// Settles all records, and cuts the last file to its length. Returns 0, or errno of that. No record is
    /// added afterwards.
    int finish();

    /// Returns what the disk has. Exact when all is settled.
    Written written() const;
    /// Returns why the writer does not use io_uring; empty: it does, or must not.
    const std::string& why_pwrite() const noexcept { return why_pwrite_; }

  private:
    struct Record {
        std::uint64_t block = 0;  ///< number of the block with its last byte
        Note note{};
        std::uint64_t bytes = 0;
        Settled settled{};
    };
    using Lock = std::unique_lock<std::mutex>;
    struct Failure {
        std::string file{};
        int error = 0;
    };

    void run() noexcept;
    void write_all(Lock& lock);
    bool look_at_idle(bool timed_out);
    void submit_waiting(Lock& lock);
    Failure take_done();
    void settle_done(Lock& lock);
    void append_lines();
    void settle_front(bool written);
    void lose_rest(Lock& lock);
    void fail(Lock& lock, const std::string& file, int error);
    void finish_files(const RawFile* until);

    bool wait_for_room(std::size_t line);
    bool open_file(std::size_t bytes);
    bool copy(std::span<const std::byte> part);
    Block* begin_block(Lock& lock);
    void hand_over(Block& block);
    void give_back(Block& block);

    const Options options_;
    const Hooks hooks_;
    std::unique_ptr<std::byte[], void (*)(void*)> memory_;
    std::vector<Block> blocks_;
    std::unique_ptr<BlockOutput> output_;
    std::string why_pwrite_;

    // Of the thread that adds.
    std::shared_ptr<RawFile> file_;
    std::uint64_t file_bytes_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable work_;                ///< for the writer
    std::condition_variable room_;                ///< for the thread that adds
    std::vector<Block*> free_;                    ///< guarded, as all below
    Block* filling_ = nullptr;                    ///< with bytes, and no thread copying into it
    std::deque<Block*> waiting_;                  ///< handed over
    std::deque<Block*> under_way_;                ///< submitted, oldest first
    std::deque<Record> records_;                  ///< not settled, oldest first
    std::size_t line_bytes_ = 0;                  ///< of records_
    bool settling_ = false;                       ///< batch_ is not empty
    std::deque<std::shared_ptr<RawFile>> files_;  ///< open, oldest first
    std::uint64_t next_number_ = 1;               ///< of a block
    std::uint64_t done_number_ = 0;               ///< all blocks up to this one are written
    std::array<std::byte, kSector> carry_{};      ///< the bytes that the next block repeats
    std::size_t carried_ = 0;
    bool urgent_ = false;  ///< blocks are written before they are full
    bool ending_ = false;
    bool failed_ = false;
    Written written_;

    // Of the writer's thread.
    std::deque<Record> batch_;  ///< left records_, and are not settled yet
    bool told_no_direct_ = false;
    std::uint64_t end_ = 0;  ///< of the last record in the first file
    int finish_error_ = 0;

    std::thread thread_;
};

}  // namespace spead::sink
