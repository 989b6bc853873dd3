// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
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

/// A heap in a user's hands, with all that its memory needs: it may be destroyed on any thread, at any time,
/// also when the stream, its lcore and the engine are gone.
struct HeapLoan {
    std::shared_ptr<heap::HeapQueue> queue;  ///< with what owns the heap's memory
    heap::HeapHandle heap;                   ///< goes first

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

/// The hand-over queues of one stream whose heaps a user takes: the seam between the engine and the user's
/// threads. Shared by both, and outlives neither of its sides: whoever goes last destroys it.
///
/// The engine's thread adds a queue for each lcore of the stream, and removes it when the lcore is done with
/// it. User threads take heaps from all of them in turn. Every function may be called by any thread; a mutex
/// guards them, which no lcore ever takes and which nobody holds while waiting.
class UserQueues {
  public:
    /// One queue, with what became of its heaps.
    class Queue : public HeapTally {
      public:
        explicit Queue(std::shared_ptr<heap::HeapQueue> q) : queue_(std::move(q)) {}

      private:
        friend class UserQueues;
        std::shared_ptr<heap::HeapQueue> queue_;
    };

    /// Throws Error when there are no descriptors.
    UserQueues();
    ~UserQueues();
    UserQueues(const UserQueues&) = delete;
    UserQueues& operator=(const UserQueues&) = delete;

    // The engine's side.

    /// Adds a queue, from which heaps may come: set_ended(false). `queue` shares the ownership of all that
    /// its heaps need. Throws Error when there is no room in the descriptor set.
    std::shared_ptr<Queue> add(std::shared_ptr<heap::HeapQueue> queue);
    /// To be called after the lcore's last push, until it returns something: what became of the queue's
    /// heaps, all of which were taken. It is one of the queues no more then. Heaps that users hold stay
    /// valid.
    std::optional<HeapTally::Done> remove(const Queue& queue);
    /// Takes and drops what is there, if the user does not want it any more.
    void drop_if_abandoned() noexcept;
    /// Heaps that users have, and that none of them has taken yet; of queues that were not removed.
    struct Heaps {
        std::size_t held = 0;
        std::size_t waiting = 0;
    };
    Heaps heaps() const noexcept;
    /// Says whether heaps may still come. Users who wait are woken.
    void set_ended(bool ended) noexcept;

    // The user's side.

    /// Takes a heap that is there; empty: there is none. fd() becomes readable with the next one then.
    std::optional<HeapLoan> try_take() noexcept;
    /// Waits for a heap for so long (-1: no limit). Empty: ended(), or the time is over.
    std::optional<HeapLoan> take(std::int64_t timeout_ns);
    /// Whether no heap is there, and none will come.
    bool ended() const noexcept;
    /// Whether no heap will come besides those that are there: what set_ended() said last.
    bool no_more() const noexcept;
    /// Returns a descriptor that becomes readable when try_take() found nothing and a heap, or the end, has
    /// come since. It stays readable after the end.
    int fd() const noexcept { return epoll_fd_; }
    /// Takes no heaps any more: those that wait, and those that come until remove(), go back unseen and count
    /// as unwritten.
    void abandon() noexcept;

  private:
    /// Few enough that they need not wait in the queue for a policy of full queues to be true to its word.
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
    std::size_t next_ = 0;  ///< where heaps are looked for first
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
