// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/armed_event.hpp"
#include "heap/heap_handle.hpp"
#include "heap/record.hpp"

struct rte_ring;

namespace spead::heap {

/// Hand-over between an RX lcore and its consumers, and the way back.
///
/// The lcore side (push, take_oldest, reclaim, wake) is called by the owning lcore only; it never waits, and
/// makes a system call only to wake a consumer that has armed the event descriptor because the queue was
/// empty. The consumer side (try_pop, pop_burst, wait, event_fd, arm) may be called by any number of threads,
/// except that wait and arm are for one thread at a time. Heap handles must be gone before the queue is
/// destroyed.
class HeapQueue {
  public:
    /// `heaps`: how many may queue, at least 1; `records`: how many exist, all of which can be on their way
    /// back at once. Throws Error.
    HeapQueue(std::size_t heaps, std::size_t records);
    ~HeapQueue();
    HeapQueue(const HeapQueue&) = delete;
    HeapQueue& operator=(const HeapQueue&) = delete;

    // Consumer side.

    /// The oldest heap, or an empty handle.
    HeapHandle try_pop();
    /// Up to out.size() heaps into empty handles; returns how many.
    std::size_t pop_burst(std::span<HeapHandle> out);
    /// Gives many heaps of this queue back at once; the handles are empty afterwards.
    void release_burst(std::span<HeapHandle> heaps);
    /// True when a heap is there; false after `timeout_ms` (-1: no limit), when wake_consumers or close was
    /// called, and sometimes earlier (a signal, an event that was late): ask again.
    bool wait(int timeout_ms);
    /// Becomes readable when a heap arrives after arm() returned true. For poll, epoll and asynchronous
    /// frameworks.
    int event_fd() const noexcept { return event_.fd(); }
    /// Returns false when heaps are there already (do not sleep).
    bool arm();
    /// Clears the descriptor after it became readable.
    void disarm();
    bool empty() const noexcept;
    std::size_t size() const noexcept;
    std::size_t capacity() const noexcept { return capacity_; }
    /// Heaps that consumers have taken so far.
    std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_acquire); }
    /// Heaps that consumers have, a moment ago.
    std::size_t held() const noexcept;
    /// Wakes a waiting consumer without a heap (end of the run). Any thread.
    void wake_consumers() noexcept;
    /// After this, an empty queue stays empty: the producer has left. Any thread.
    void close() noexcept;
    bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    // Lcore side.

    /// Returns how many of the records were taken in (0..count): fewer than there seem to be places while a
    /// consumer is in the middle of a pop.
    std::size_t push(Record* const* records, std::size_t count) noexcept;
    /// Takes the oldest queued record back, so that there is room for another. Null when consumers were
    /// faster, or while one is in the middle of a pop, which keeps all places taken.
    Record* take_oldest() noexcept;
    /// Records that consumers have given back; returns how many of at most `max`.
    std::size_t reclaim(Record** out, std::size_t max) noexcept;
    /// Most heaps that were queued after a push.
    std::size_t most_queued() const noexcept { return most_queued_; }
    void forget_most_queued() noexcept { most_queued_ = size(); }
    /// Call once after pushes: wakes a consumer that sleeps on the descriptor.
    void wake() noexcept { event_.announce(); }

  private:
    friend class HeapHandle;
    void give_back(Record* record) noexcept;

    struct RingMemory {
        void operator()(rte_ring* ring) const noexcept;
    };
    using Ring = std::unique_ptr<rte_ring, RingMemory>;

    static Ring make_ring(const char* name, std::size_t entries, unsigned flags);

    Ring queue_;
    Ring back_;
    std::size_t capacity_;
    ArmedEvent event_{"heap queue"};
    std::atomic<bool> closed_{false};
    alignas(64) std::atomic<std::uint64_t> taken_{0};
    alignas(64) std::size_t most_queued_ = 0;  ///< the lcore's
};

}  // namespace spead::heap
