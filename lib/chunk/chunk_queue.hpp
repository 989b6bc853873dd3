// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "base/armed_event.hpp"
#include "base/own_ring.hpp"
#include "chunk/chunk.hpp"

namespace spead::chunk {

/// Carries loose chunks (Chunk::loose) from users to streams, or from streams to users: a bounded queue in
/// memory of its own, without EAL. Several streams and users may share it.
///
/// Any number of threads may call anything. Users may sleep on its descriptors, several at once; no function
/// waits.
class ChunkQueue {
  public:
    /// Limits `most`.
    static constexpr std::size_t kMost = 32768;

    /// Makes a queue in which users may have up to `most` chunks. Streams put theirs in beyond that, so that
    /// no chunk is lost. Throws UsageError, Error.
    explicit ChunkQueue(std::size_t most);
    ChunkQueue(const ChunkQueue&) = delete;
    ChunkQueue& operator=(const ChunkQueue&) = delete;

    // The user's side.

    enum class Put : std::uint8_t { done, full, stopped };
    /// Puts a chunk in. When it is full, space_fd() becomes readable when there is room.
    Put put(Chunk& chunk) noexcept;
    /// Takes the oldest chunk; null: there is none. Then data_fd() becomes readable with the next one, or
    /// with the end.
    Chunk* take() noexcept;
    /// Ends the queue for those who put in. Returns false if it had ended before.
    bool stop() noexcept;
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
    /// Counts those who put chunks in. When the last one is removed, the queue stops.
    void add_producer() noexcept { producers_.fetch_add(1, std::memory_order_relaxed); }
    /// Returns whether this has stopped the queue.
    bool remove_producer() noexcept;
    std::size_t size() const noexcept;
    std::size_t most() const noexcept { return most_; }
    bool full() const noexcept { return size() >= most_; }
    int data_fd() const noexcept { return data_.fd(); }
    int space_fd() const noexcept { return space_.fd(); }

    // The stream's side: lcores.

    /// Takes a chunk to fill; null: there is none.
    Chunk* open() noexcept;
    /// Puts a chunk in, stopped or not. Returns false when there is no room at all.
    bool push(Chunk& chunk) noexcept;
    /// Wakes users that sleep. Call it once after push().
    void wake() noexcept { data_.announce(); }

  private:
    std::size_t most_;
    OwnRing ring_;
    ArmedEvent data_{"chunk queue"};
    ArmedEvent space_{"chunk queue"};
    std::mutex putting_;  ///< users
    std::atomic<std::size_t> producers_{0};
    std::atomic<bool> stopped_{false};
};

}  // namespace spead::chunk
