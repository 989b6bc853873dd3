// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heap/heap_queue.hpp"
#include "runtime/heap_tally.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

/// Runs the threads that take heaps from the queues and give them to sinks.
///
/// A sink and its queues belong to one thread. Queues are added and removed while threads run. A thread ends
/// when join() waits for it and its queues are closed and empty. It also ends when the budget of heaps is
/// used up; heaps that are left stay queued. Every sink is ended. When a sink has failed, its heaps are taken
/// and returned without being shown to it, so that its queues never fill; the other sinks go on.
///
/// Control code: unless a function says otherwise, only the control executor's thread calls it.
class Consumers {
  public:
    using Done = HeapTally::Done;

    /// Holds a queue and the sink of its heaps. It lasts until remove() has returned a result, or as long as
    /// the consumers.
    class Feed : public HeapTally {
        friend class Consumers;
        heap::HeapQueue* queue_ = nullptr;
        Sink* sink_ = nullptr;
        std::size_t thread_ = 0;
        bool leaving_ = false;  ///< guarded by the thread's mutex, as the next
        bool finishes_sink_ = false;
        std::atomic<bool> gone_{false};
    };

    /// Takes at most `budget` heaps for sinks that have not failed, over all queues; 0: no limit.
    explicit Consumers(std::uint64_t budget) : budget_(budget), unclaimed_(budget) {}
    ~Consumers();
    Consumers(const Consumers&) = delete;
    Consumers& operator=(const Consumers&) = delete;

    /// Adds a queue and its sink, which both outlive the feed. A sink may have several queues.
    Feed& add(heap::HeapQueue& queue, Sink& sink);
    /// Removes a feed whose queue was closed. Call it until it returns a result: then the heaps were taken,
    /// no thread touches the feed again, and it is destroyed. `end_sink`: the sink gets no other queue and is
    /// ended when its last one is removed.
    std::optional<Done> remove(Feed& feed, bool end_sink);

    /// Assigns the sinks to at most `threads` threads that run on `cpus`. `all`: starts that many even if
    /// there are fewer sinks, since others may be added.
    void start(unsigned threads, const std::vector<unsigned>& cpus, bool all = false);
    /// Waits until all threads have ended. The queues must have been closed, or stop() called.
    void join();
    /// Ends all threads at once, leaving heaps in the queues.
    void stop() noexcept;

    /// Returns whether the budget of heaps was taken. Sinks may work on the last of them until join(). Any
    /// thread.
    bool budget_used_up() const noexcept {
        return budget_ != 0 && taken_.load(std::memory_order_acquire) == budget_;
    }
    /// Returns whether a thread ended for lack of memory. Sinks report their own failures.
    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    std::string failure() const;

  private:
    struct Thread {
        Thread();
        ~Thread();
        void wake() const noexcept;

        std::mutex mutex;
        std::vector<Feed*> feeds;               ///< guarded
        std::atomic<std::uint64_t> changes{0};  ///< of `feeds`
        int wake_fd;
        std::thread thread;
    };

    void give(Feed& feed);
    void run(Thread& me);
    void take_heaps(Thread& me);
    std::pair<std::vector<Feed*>, bool> look_at_feeds(Thread& me);
    bool drain(Feed& feed);
    std::size_t take(heap::HeapQueue& queue, std::span<heap::HeapHandle> out);
    std::size_t claim(std::size_t wanted) noexcept;
    void fail(const std::string& message);

    const std::uint64_t budget_;
    std::atomic<std::uint64_t> unclaimed_;  ///< heaps of the budget that no thread is about to take
    std::atomic<std::uint64_t> taken_{0};   ///< heaps of the budget
    std::atomic<bool> stop_{false};
    std::atomic<bool> ending_{false};  ///< join() waits
    std::atomic<bool> failed_{false};
    mutable std::mutex mutex_;
    std::string failure_;
    std::list<Feed> feeds_;
    std::deque<Thread> threads_;
};

/// Lets the calling thread run on these CPUs only; empty: no change.
void run_on(const std::vector<unsigned>& cpus);

}  // namespace spead::runtime
