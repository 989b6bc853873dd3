// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "gather/channel.hpp"
#include "memory/region.hpp"

namespace spead::gather {

/// Holds the channels of an engine, its failure and its end: what control code and the engine's thread share.
///
/// `Served` has a `channel`, and what the engine needs besides to serve it. The engine and its thread share
/// this object, so that a thread that stands still keeps what it may touch.
template <typename Served>
class Connections {
  public:
    using Pointer = std::shared_ptr<Served>;

    // Control code, one thread at a time.

    /// Makes a channel with so many batches. `prepare(Served&)` completes what an engine needs that has
    /// neither failed nor ended. Throws what that throws.
    template <typename Prepare>
    std::shared_ptr<Channel> connect(std::size_t batches, const Prepare& prepare) {
        const auto served = std::make_shared<Served>();
        served->channel = std::make_shared<Channel>(batches);
        const std::lock_guard lock(mutex_);
        if (ended_) {
            served->channel->fail(failure_.empty() ? "the engine has been stopped" : failure_);
            served->channel->end();
            return served->channel;
        }
        if (failure_.empty())
            prepare(*served);
        else
            served->channel->fail(failure_);
        all_.push_back(served);
        changed_.store(true, std::memory_order_release);
        return served->channel;
    }

    /// Keeps memory allocated until the engine ends: for good, if it cannot be stopped.
    void keep(const std::shared_ptr<const memory::Region>& region) {
        const std::lock_guard lock(mutex_);
        std::erase_if(memory_, [](const auto& m) { return m.expired(); });
        memory_.push_back(region);
    }

    /// Stops the engine, and joins its thread (Engine::stop).
    bool stop(std::thread& thread, std::chrono::milliseconds patience) {
        if (!thread.joinable())
            return true;
        stopping_.store(true, std::memory_order_release);
        stands_still_ = !wait_for_end(patience);
        if (stands_still_)
            return false;
        thread.join();
        const std::lock_guard lock(mutex_);
        all_.clear();
        kept_.clear();
        return true;
    }

    /// Stops the engine for good. A thread that stands still is left alone.
    void leave(std::thread& thread) {
        if (!stop(thread, stands_still_ ? std::chrono::milliseconds(0) : kPatience))
            thread.detach();
    }

    // The engine's thread.

    bool is_stopping() const noexcept { return stopping_.load(std::memory_order_acquire); }
    /// Adds new channels to `served`, and takes out those that only the engine holds.
    void update(std::vector<Pointer>& served) {
        if (!changed_.exchange(false, std::memory_order_acq_rel))
            return;
        const std::lock_guard lock(mutex_);
        std::erase_if(all_, [](const auto& one) { return one->channel.use_count() == 1; });
        served = all_;
    }
    /// Says that no more batch of any channel will be done, and why.
    void fail(const std::string& what) {
        log_error(LogType::memory, "{}; heaps without all of their payload are lost from now on", what);
        const std::lock_guard lock(mutex_);
        failure_ = what;
        for (const auto& one : all_)
            one->channel->fail(what);
    }
    /// Says that the engine reads and writes nothing any more.
    void end() {
        const std::lock_guard lock(mutex_);
        for (const auto& one : all_)
            one->channel->end();
        ended_ = true;
        ending_.notify_all();
    }

  private:
    /// Limits the wait of leave().
    static constexpr std::chrono::milliseconds kPatience{2000};

    bool wait_for_end(std::chrono::milliseconds patience) {
        std::unique_lock lock(mutex_);
        if (ending_.wait_for(lock, patience, [this] { return ended_; }))
            return true;
        std::vector<std::shared_ptr<const memory::Region>> all;
        for (const auto& region : memory_)
            if (auto alive = region.lock())
                all.push_back(std::move(alive));
        kept_ = std::move(all);
        return false;
    }

    std::atomic<bool> stopping_{false};
    std::atomic<bool> changed_{false};  ///< there are channels that the thread has not seen
    bool stands_still_ = false;         ///< it did at the last stop(); control code's

    std::mutex mutex_;  ///< for what follows
    std::condition_variable ending_;
    std::vector<Pointer> all_;
    std::vector<std::weak_ptr<const memory::Region>> memory_;
    std::vector<std::shared_ptr<const memory::Region>> kept_;  ///< by an engine that cannot be stopped
    std::string failure_;
    bool ended_ = false;
};

}  // namespace spead::gather
