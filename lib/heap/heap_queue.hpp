// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/armed_event.hpp"
#include "base/own_ring.hpp"
#include "heap/heap_handle.hpp"
#include "heap/record.hpp"

namespace spead::heap {

class LentPackets;

/// Hands heaps over from an RX lcore to its consumers, and takes them back.
///
/// The owning lcore alone calls the lcore side (push, take_oldest, reclaim, wake). It never waits, and makes
/// a system call only to wake a consumer that has armed the event descriptor because the queue was empty. Any
/// number of threads may call the consumer side (try_pop, pop_burst, wait, event_fd, arm), except that wait
/// and arm are for one thread at a time. Heap handles must be gone before the queue is destroyed.
class HeapQueue {
  public:
    /// Makes a queue. `heaps`: how many may queue, at least 1. `records`: how many exist; all of them can be
    /// on their way back at once. Throws Error.
    HeapQueue(std::size_t heaps, std::size_t records);
    ~HeapQueue();
    HeapQueue(const HeapQueue&) = delete;
    HeapQueue& operator=(const HeapQueue&) = delete;

    // Consumer side.

    /// Returns the oldest heap, or an empty handle.
    HeapHandle try_pop();
    /// Pops up to out.size() heaps into empty handles; returns how many.
    std::size_t pop_burst(std::span<HeapHandle> out);
    /// Gives many heaps of this queue back at once; the handles are empty afterwards.
    void release_burst(std::span<HeapHandle> heaps);
    /// Waits for a heap. Returns true when one is there. Returns false after `timeout_ms` (-1: no limit),
    /// when wake_consumers or close was called, and sometimes earlier (a signal, a late event): ask again.
    bool wait(int timeout_ms);
    /// Returns a descriptor that becomes readable when a heap arrives after arm() returned true. For poll,
    /// epoll and asynchronous frameworks.
    int event_fd() const noexcept { return event_.fd(); }
    /// Arms the descriptor. Returns false when heaps are there already (do not sleep).
    bool arm();
    /// Clears the descriptor after it became readable.
    void disarm();
    bool empty() const noexcept;
    std::size_t size() const noexcept;
    std::size_t capacity() const noexcept { return capacity_; }
    /// Returns how many heaps consumers have taken so far.
    std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
    /// Returns the heaps that consumers had a moment ago.
    std::size_t held() const noexcept;
    /// Wakes a waiting consumer without a heap (end of the run). Any thread.
    void wake_consumers() noexcept;
    /// Closes the queue: once empty it stays empty, because no more heaps are pushed. Any thread.
    void close() noexcept;
    bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    /// Sets where the packets of its heaps are that were not copied. Before the first heap; it outlives the
    /// handles.
    void lend_with(LentPackets& lent) noexcept { lent_ = &lent; }

    // Lcore side.

    /// Pushes records. Returns how many were taken in (0..count). While a consumer is in the middle of a pop,
    /// that may be fewer than the free places.
    std::size_t push(Record* const* records, std::size_t count) noexcept;
    /// Takes the oldest queued record back, to make room for another. Returns null when consumers were
    /// faster, or while one is in the middle of a pop, which keeps all places occupied.
    Record* take_oldest() noexcept;
    /// Takes records that consumers have given back; returns how many of at most `max`.
    std::size_t reclaim(Record** out, std::size_t max) noexcept;
    /// Returns the most heaps that were queued after a push.
    std::size_t most_queued() const noexcept { return most_queued_; }
    void forget_most_queued() noexcept { most_queued_ = size(); }
    /// Wakes a consumer that sleeps on the descriptor. Call it once after pushes.
    void wake() noexcept { event_.announce(); }

  private:
    friend class HeapHandle;
    void give_back(Record* record) noexcept;

    OwnRing queue_;
    OwnRing back_;
    std::size_t capacity_;
    LentPackets* lent_ = nullptr;  ///< null: heaps are copies
    ArmedEvent event_{"heap queue"};
    std::atomic<bool> closed_{false};
    alignas(64) std::atomic<std::uint64_t> taken_{0};
    alignas(64) std::size_t most_queued_ = 0;  ///< the lcore's
};

}  // namespace spead::heap
