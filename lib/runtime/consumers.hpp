// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "heap/heap_queue.hpp"
#include "runtime/sink.hpp"

namespace spead::runtime {

/// The threads that take heaps from the queues and give them to sinks.
///
/// A sink and its queues belong to one thread. Threads end when their queues are closed and empty, when the
/// budget of heaps is used up, or when a sink throws; then `failed()` tells, what is left stays queued, and
/// the few heaps taken together with the one that failed go back unseen. Every sink is finished.
class Consumers {
  public:
    /// At most `budget` heaps are taken, over all queues; 0: no limit.
    explicit Consumers(std::uint64_t budget) : budget_(budget), unclaimed_(budget) {}
    ~Consumers();
    Consumers(const Consumers&) = delete;
    Consumers& operator=(const Consumers&) = delete;

    /// Before start(). Queue and sink outlive the threads. A sink may have several queues. Returns the feed's
    /// number, from 0.
    std::size_t add(heap::HeapQueue& queue, Sink& sink);
    /// Deals the sinks over at most `threads` threads that run on `cpus`.
    void start(unsigned threads, const std::vector<unsigned>& cpus);
    /// Waits until all threads have ended. The queues must have been closed, or stop() called.
    void join();
    /// Threads end at once, leaving heaps in the queues.
    void stop() noexcept;

    /// So many heaps were taken; their sinks may be busy with the last of them until join().
    bool budget_used_up() const noexcept {
        return budget_ != 0 && taken_.load(std::memory_order_acquire) == budget_;
    }
    /// Heaps of a feed whose sink is done with them, and which were given back. Any thread.
    std::uint64_t finished(std::size_t feed) const noexcept {
        return feeds_[feed].finished.load(std::memory_order_acquire);
    }
    bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// What the first sink that failed said.
    std::string failure() const;

  private:
    struct Feed {
        heap::HeapQueue* queue;
        Sink* sink;
        std::atomic<std::uint64_t> finished{0};
    };

    void run(const std::vector<Feed*>& feeds);
    void take_heaps(const std::vector<Feed*>& feeds);
    bool drain(Feed& feed);
    std::size_t take(heap::HeapQueue& queue, std::span<heap::Heap> out);
    std::size_t claim(std::size_t wanted) noexcept;
    void fail(const std::string& message);

    const std::uint64_t budget_;
    std::atomic<std::uint64_t> unclaimed_;  ///< of the budget: what no thread is about to take
    std::atomic<std::uint64_t> taken_{0};   ///< of the budget
    std::atomic<bool> stop_{false};
    std::atomic<bool> failed_{false};
    mutable std::mutex mutex_;
    std::string failure_;
    std::deque<Feed> feeds_;  ///< where atomics may lie: nothing moves
    std::vector<std::thread> threads_;
};

/// Lets the calling thread run on these CPUs only; empty: no change.
void run_on(const std::vector<unsigned>& cpus);

}  // namespace spead::runtime
