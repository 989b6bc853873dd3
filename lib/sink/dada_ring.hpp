// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <sys/ipc.h>
#include <utility>
#include <vector>

#include "sink/dada_memory.hpp"

namespace spead::sink {

/// Parses the key of a ring: hexadecimal, as `dada_db -k` takes it; "" is `dada`. Throws UsageError.
std::uint32_t parse_dada_key(const std::string& text, const std::string& where = {});

/// Writes to one ring of PSRDADA that exists: its data, or its headers. docs/psrdada.md has the protocol.
///
/// Its memory is hostile. What the ring is like is read and checked once. Where the writer is, is read and
/// checked with the lock, and only written from then on. Readers are heard through semaphores alone.
///
/// One thread at a time. Only wait() waits.
class DadaRing {
  public:
    using Clock = std::chrono::steady_clock;

    /// Attaches. `name` is for messages: "PSRDADA ring dada". Throws Error with the reason when there is no
    /// such ring, when it may not be written, or when it is no ring of this shape.
    DadaRing(std::uint32_t key, std::string name);
    /// Unlocks and detaches.
    ~DadaRing();
    DadaRing(const DadaRing&) = delete;
    DadaRing& operator=(const DadaRing&) = delete;

    const std::string& name() const noexcept { return name_; }
    std::uint64_t blocks() const noexcept { return blocks_.size(); }
    std::uint64_t block_bytes() const noexcept { return block_bytes_; }
    std::size_t readers() const noexcept { return readers_.size(); }
    /// Returns whose the ring is, and who may write it.
    const ipc_perm& access() const noexcept { return segments_.front().access; }
    /// Throws Error when something belongs to others than the ring, or when users may write the ring and not
    /// that: then they could make this process write it for them. `what` names it: "block 3".
    void check_owner(const ipc_perm& access, const std::string& what) const;

    /// Takes the writer's lock, which the kernel gives back when the process ends. Returns false when another
    /// has it. Throws Error as all functions below: semaphores were removed, or the ring is damaged.
    bool lock();
    bool locked() const noexcept { return locked_; }
    /// Returns whether this process was the last to use the lock.
    bool lock_is_of_this_process() const noexcept;
    void unlock() noexcept;

    // With the lock:

    /// Returns whether a transfer is open, perhaps since a former writer.
    bool writing() const noexcept { return writing_; }
    /// Waits until all readers have left so many blocks, at most until `end`. Takes nothing. Returns whether
    /// they have.
    bool wait(std::uint64_t blocks, Clock::time_point end);
    /// Begins a transfer, at the next block. Returns false when some reader has not begun or finished enough
    /// of the former ones.
    bool start();
    /// Returns whether start() would.
    bool can_start();
    /// Takes the next block, which readers have left. Returns an empty span when they have not.
    std::span<std::byte> next_block();
    /// Gives the block to the readers, full.
    void filled();
    /// Ends the transfer with the first `bytes` of the block that next_block() returned. Returns false when
    /// some reader has not finished enough of the former ones; then nothing has changed.
    bool end(std::uint64_t bytes);

  private:
    struct Segment {
        Segment() = default;
        /// Attaches a segment of exactly so many bytes.
        Segment(std::int32_t key, std::size_t bytes, const std::string& name, const std::string& what);
        ~Segment();
        Segment(Segment&& other) noexcept : memory(std::exchange(other.memory, {})), access(other.access) {}
        Segment& operator=(Segment&&) = delete;
        std::span<std::byte> memory;
        ipc_perm access{};
    };
    struct Step {
        unsigned short semaphore;
        short change;
    };

    void check_trust() const;
    void attach_readers(const dada::Sync& sync);
    int semaphores(std::int32_t key, unsigned least, const std::string& what) const;
    int value_of(int set, unsigned short semaphore) const;
    bool step(int set, std::initializer_list<Step> steps, const timespec* wait = nullptr);
    bool take_of_all(unsigned short semaphore);
    void give_to_all(unsigned short semaphore);
    void publish();
    [[noreturn]] void damaged(const char* what) const;

    std::string name_;
    std::uint64_t block_bytes_ = 0;
    std::vector<Segment> segments_;  ///< of the ring, then of its blocks
    dada::Sync* sync_ = nullptr;
    std::byte* shared_pending_ = nullptr;  ///< a byte of each block
    std::vector<std::span<std::byte>> blocks_;
    int connect_ = -1;
    std::vector<int> readers_;  ///< their semaphore sets

    bool locked_ = false;
    bool writing_ = false;
    std::uint64_t current_ = 0;
    std::uint64_t transfer_ = 0;
    std::vector<std::uint8_t> pending_;  ///< transfers of each block that readers have not been seen to leave
};

}  // namespace spead::sink
