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

/// The threads that take heaps from the queues and give them to sinks.
///
/// A sink and its queues belong to one thread. Queues come and go while threads run. A thread ends when
/// join() waits for it and its queues are closed and empty, or when the budget of heaps is used up; then
/// what is left stays queued. Every sink is ended. Heaps for a sink that has failed are taken and go back
/// unseen, so that no queue of its is ever full; the other sinks go on.
///
/// Control world: one thread, the control executor's, calls everything but what says otherwise.
class Consumers {
  public:
    using Done = HeapTally::Done;

    /// A queue and where its heaps go. Lasts until remove() has returned true, or as long as the consumers.
    class Feed : public HeapTally {
        friend class Consumers;
        heap::HeapQueue* queue_ = nullptr;
        Sink* sink_ = nullptr;
        std::size_t thread_ = 0;
        bool leaving_ = false;  ///< guarded by the thread's mutex, like the next
        bool finishes_sink_ = false;
        std::atomic<bool> gone_{false};
    };

    /// At most `budget` heaps are taken for sinks that have not failed, over all queues; 0: no limit.
    explicit Consumers(std::uint64_t budget) : budget_(budget), unclaimed_(budget) {}
    ~Consumers();
    Consumers(const Consumers&) = delete;
    Consumers& operator=(const Consumers&) = delete;

    /// Queue and sink outlive the feed. A sink may have several queues.
    Feed& add(heap::HeapQueue& queue, Sink& sink);
    /// To be called after the queue was closed, until it returns something, what became of its heaps: they
    /// were taken, no thread will touch it again, and the feed is no more. `end_sink`: the sink gets no other
    /// queue; it is ended when its last one leaves.
    std::optional<Done> remove(Feed& feed, bool end_sink);

    /// Distributes the sinks over at most `threads` threads that run on `cpus`; `all`: so many even if there
    /// are fewer sinks, since others may come.
    void start(unsigned threads, const std::vector<unsigned>& cpus, bool all = false);
    /// Waits until all threads have ended. The queues must have been closed, or stop() called.
    void join();
    /// Threads end at once, leaving heaps in the queues.
    void stop() noexcept;

    /// So many heaps were taken; their sinks may be busy with the last of them until join(). Any thread.
    bool budget_used_up() const noexcept {
        return budget_ != 0 && taken_.load(std::memory_order_acquire) == budget_;
    }
    /// A thread could not go on, for want of memory. Sinks that fail tell so themselves.
    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    std::string failure() const;

  private:
    struct Thread {
        Thread();
        ~Thread();
        void wake() const noexcept;

        std::mutex mutex;
        std::vector<Feed*> feeds;               ///< guarded
        std::atomic<std::uint64_t> changes{0};  ///< of feeds
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
    std::atomic<std::uint64_t> unclaimed_;  ///< of the budget: what no thread is about to take
    std::atomic<std::uint64_t> taken_{0};   ///< of the budget
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
