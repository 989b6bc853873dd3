// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "heap/heap_queue.hpp"
#include "runtime/heap_tally.hpp"

namespace spead::runtime {

/// Holds a heap for a user, with all objects that its memory needs. It may be destroyed on any thread, at any
/// time, also after the stream, its lcore and the engine.
struct HeapLoan {
    std::shared_ptr<heap::HeapQueue> queue;  ///< with the owner of the heap's memory
    heap::HeapHandle heap;                   ///< destroyed first

    HeapLoan() = default;
    HeapLoan(std::shared_ptr<heap::HeapQueue> q, heap::HeapHandle h) noexcept
        : queue(std::move(q)), heap(std::move(h)) {}
    HeapLoan(HeapLoan&&) noexcept = default;
    HeapLoan& operator=(HeapLoan&& other) noexcept {
        heap.reset();  // while its queue is there
        queue = std::move(other.queue);
        heap = std::move(other.heap);
        return *this;
    }
    HeapLoan(const HeapLoan&) = delete;
    HeapLoan& operator=(const HeapLoan&) = delete;
    ~HeapLoan() { heap.reset(); }
};

/// Holds the hand-over queues of one stream whose heaps a user takes: the interface between the engine and
/// the user's threads. Both sides share it; the last one destroys it.
///
/// The engine's thread adds a queue for each lcore of the stream, and removes it when the lcore has finished
/// with it. User threads take heaps from all of them in turn. Any thread may call every function. A mutex
/// guards them; no lcore ever takes it, and no thread holds it while waiting.
class UserQueues {
  public:
    /// Holds one queue, and counts the outcome of its heaps.
    class Queue : public HeapTally {
      public:
        explicit Queue(std::shared_ptr<heap::HeapQueue> q) : queue_(std::move(q)) {}

        /// Waits until users take heaps of a full queue, `patience` at most. Returns false at once if the
        /// queue has room. For one thread, which fills the queue and is no lcore.
        bool wait_for_room(std::chrono::nanoseconds patience);

      private:
        friend class UserQueues;
        void tell_room() noexcept;

        std::shared_ptr<heap::HeapQueue> queue_;
        std::atomic<bool> wants_room_{false};
        std::mutex room_mutex_;
        std::condition_variable room_;
    };

    /// Throws Error when there are no descriptors.
    UserQueues();
    ~UserQueues();
    UserQueues(const UserQueues&) = delete;
    UserQueues& operator=(const UserQueues&) = delete;

    // The engine's side.

    /// Adds a queue, from which heaps may come: set_ended(false). `queue` shares the ownership of all objects
    /// that its heaps need. Throws Error when there is no room in the descriptor set.
    std::shared_ptr<Queue> add(std::shared_ptr<heap::HeapQueue> queue);
    /// Removes a queue after the lcore's last push. Call it until it returns the outcome of the queue's
    /// heaps, all of which were taken by then. Heaps that users hold stay valid.
    std::optional<HeapTally::Done> remove(const Queue& queue);
    /// Takes and drops waiting heaps, if the user has abandoned the queues.
    void drop_if_abandoned() noexcept;
    /// Counts the heaps that users have, and those that wait for them, in queues that were not removed.
    struct Heaps {
        std::size_t held = 0;
        std::size_t waiting = 0;
    };
    Heaps heaps() const noexcept;
    /// Sets whether heaps may still come. Wakes waiting users.
    void set_ended(bool ended) noexcept;

    // The user's side.

    /// Takes a waiting heap; empty: there is none. Then fd() becomes readable with the next one.
    std::optional<HeapLoan> try_take() noexcept;
    /// Waits for a heap, for the timeout at most (-1: no limit). Empty: ended(), or the time is over.
    std::optional<HeapLoan> take(std::int64_t timeout_ns);
    /// Returns whether no heap is waiting, and none will come.
    bool ended() const noexcept;
    /// Returns whether no heap will come besides the waiting ones: the last set_ended().
    bool no_more() const noexcept;
    /// Returns a descriptor that becomes readable when a heap or the end comes after try_take() has found
    /// nothing. After the end it stays readable.
    int fd() const noexcept { return epoll_fd_; }
    /// Takes no heaps any more: waiting ones, and those that come until remove(), go back unseen and count as
    /// unwritten.
    void abandon() noexcept;

  private:
    /// Limits the heaps taken at once, so that the queue's policy for full queues stays true.
    static constexpr std::size_t kBurst = 16;

    void close_fds() const noexcept;
    bool fetch() noexcept;
    bool arm() noexcept;
    void wake() noexcept;
    void drop_all() noexcept;

    int epoll_fd_ = -1;
    int wake_fd_ = -1;  ///< changes of the queues and the end
    mutable std::mutex mutex_;
    // Guarded.
    std::vector<std::shared_ptr<Queue>> queues_;
    std::size_t next_ = 0;  ///< the next queue to look at
    // Heaps that were fetched together: [first_, last_) of fetched_, all of fetched_from_.
    std::array<heap::HeapHandle, kBurst> fetched_;
    std::size_t first_ = 0;
    std::size_t last_ = 0;
    std::shared_ptr<Queue> fetched_from_;
    bool woken_ = false;  ///< wake_fd_ is readable
    bool ended_ = false;
    bool abandoned_ = false;
};

}  // namespace spead::runtime
