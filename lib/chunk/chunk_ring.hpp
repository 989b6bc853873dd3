// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/armed_event.hpp"
#include "base/own_ring.hpp"
#include "base/setting_limits.hpp"
#include "chunk/chunk.hpp"
#include "chunk/chunk_queue.hpp"
#include "chunk/placement.hpp"

namespace spead::chunk {

/// Counts what users and lcores did with the chunks of a ring. Any thread reads them, one by one.
struct RingCounts {
    std::atomic<std::uint64_t> taken{0};           ///< chunks, by users
    std::atomic<std::uint64_t> given_back{0};      ///< chunks, by users
    std::atomic<std::uint64_t> complete{0};        ///< of those taken
    std::atomic<std::uint64_t> heaps_present{0};   ///< in those taken
    std::atomic<std::uint64_t> heaps_expected{0};  ///< in those taken
    std::atomic<std::uint64_t> doubled{0};         ///< packets, in those taken
};

/// Holds the chunks of one or several windows: the free ones, and those that wait for users. Rings in memory
/// of its own, without EAL.
///
/// Any number of threads may call the user's side; wait and arm are for one thread at a time. Lcores call the
/// lcore's side. No function of either side waits for another thread.
class ChunkRing {
  public:
    static constexpr std::size_t kMaxChunks = kMostChunks;
    /// Limits the loose chunks that windows have at a time.
    static constexpr std::size_t kMaxLoose = 2048;

    /// Makes a ring for up to `chunks` chunks. Throws Error.
    explicit ChunkRing(std::size_t chunks);
    /// Makes a ring whose free chunks come from a queue of the user's, and whose full ones go to another: the
    /// user's side is theirs. It has no chunks of its own. Throws Error.
    ChunkRing(std::shared_ptr<ChunkQueue> free, std::shared_ptr<ChunkQueue> data);
    ~ChunkRing();
    ChunkRing(const ChunkRing&) = delete;
    ChunkRing& operator=(const ChunkRing&) = delete;

    // Control code.

    /// Adds a chunk over the user's or our memory, and makes it free. The memory outlives the ring. `layout`
    /// says how much each part needs. Throws UsageError: a part is too small, or there are too many chunks.
    Chunk& add(const Layout& layout, std::span<std::byte> data, std::span<std::uint8_t> present,
               std::span<std::byte> extra, MemoryKind kind = MemoryKind::host, void* user = nullptr);
    std::size_t chunks() const noexcept { return chunks_.size(); }
    /// Returns whether its chunks come from queues.
    bool loose() const noexcept { return loose_free_ != nullptr; }
    /// Returns the queue that gets the full ones; null: it is not loose.
    const std::shared_ptr<ChunkQueue>& loose_data() const noexcept { return loose_data_; }
    /// Returns whether more than so many chunks are on their way to or from windows.
    bool has_more_than(std::size_t open) const noexcept { return loose() || chunks() > open; }
    std::size_t capacity() const noexcept { return capacity_; }
    /// Returns the bytes of all chunks' payload. Any thread.
    std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    /// Returns the bytes of a chunk's payload; of loose ones, those of the largest so far. Any thread.
    std::size_t bytes_of_chunk() const noexcept {
        return loose() ? largest_.load(std::memory_order_relaxed) : chunks_.front()->chunk.data.size();
    }
    /// Returns a chunk by Chunk::index.
    Chunk& at(std::size_t index) noexcept { return chunks_[index]->chunk; }

    // The user's side.

    /// Takes the oldest waiting chunk; null: there is none. Its heaps were counted.
    Chunk* take() noexcept;
    /// Gives a chunk back: its presence is zeroed here, and it is free. Returns false, and does nothing, when
    /// the user does not have it: it was given back before, or belongs to another ring.
    bool give_back(Chunk& chunk) noexcept;
    /// Waits until take() has something to take, for `timeout_ms` at most (-1: no limit). Returns false when
    /// the time is over, when the ring is closed, and sometimes earlier: ask again.
    bool wait(int timeout_ms);
    int data_fd() const noexcept { return data_event_.fd(); }
    /// Arms data_fd(). Returns false when a chunk waits already.
    bool arm();
    void disarm();
    /// Says that no more chunks come. Any thread; take() still returns those that wait.
    void close() noexcept;
    void open_again() noexcept { closed_.store(false, std::memory_order_release); }
    bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
    std::size_t waiting() const noexcept;
    std::size_t free() const noexcept;
    const RingCounts& counts() const noexcept { return counts_; }

    // The lcore's side.

    /// Takes a free chunk for a window; null: there is none.
    Chunk* open() noexcept;
    /// Hands a chunk over to users. There is always room.
    void hand_over(Chunk& chunk) noexcept;
    /// Returns a chunk that was opened and not used.
    void return_unused(Chunk& chunk) noexcept;
    /// Wakes a user that sleeps. Call it once after hand_over().
    void wake() noexcept {
        if (loose_data_)
            loose_data_->wake();
        else
            data_event_.announce();
    }

  private:
    /// Holds what the ring owns for a chunk.
    struct Owned {
        Chunk chunk;
        Layout layout;
        std::unique_ptr<std::uint8_t[]> parts;
        std::unique_ptr<Chunk::Share[]> shares;
    };

    void zero(Owned& owned) noexcept;
    Chunk* open_loose() noexcept;

    std::size_t capacity_;
    std::atomic<std::size_t> bytes_{0};
    OwnRing free_;
    OwnRing data_;
    std::shared_ptr<ChunkQueue> loose_free_{};
    std::shared_ptr<ChunkQueue> loose_data_{};
    std::atomic<std::size_t> loose_out_{0};       ///< loose chunks that windows have
    std::atomic<std::size_t> largest_{0};         ///< loose chunk, in bytes
    std::vector<std::unique_ptr<Owned>> chunks_;  ///< by Chunk::index
    ArmedEvent data_event_{"chunk ring"};
    std::atomic<bool> closed_{false};
    RingCounts counts_;
};

}  // namespace spead::chunk
