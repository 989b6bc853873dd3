// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

namespace spead::door {

/// Guards what one thread uses in bursts, with hardly a pause between two, and other threads now and then.
///
/// A plain mutex would be taken again by the same thread before one of the others is awake, so these would
/// wait without end.
class BurstMutex {
  public:
    using Lock = std::unique_lock<std::timed_mutex>;

    /// Locks for a burst. Lets another thread that waits in first.
    Lock burst() {
        if (askers_.load(std::memory_order_acquire) != 0) [[unlikely]]
            give_way();
        return Lock(mutex_);
    }
    /// Locks between two bursts. Owns nothing when the burst lasts longer than `patience`.
    Lock ask(std::chrono::nanoseconds patience) {
        askers_.fetch_add(1, std::memory_order_acq_rel);
        Lock lock(mutex_, patience);
        served_.fetch_add(1, std::memory_order_release);
        askers_.fetch_sub(1, std::memory_order_acq_rel);
        return lock;
    }

  private:
    /// Limits the pause for a thread that gets no CPU.
    static constexpr std::chrono::milliseconds kLongest{10};

    void give_way() const {
        const std::uint32_t before = served_.load(std::memory_order_acquire);
        const auto end = std::chrono::steady_clock::now() + kLongest;
        while (askers_.load(std::memory_order_acquire) != 0 &&
               served_.load(std::memory_order_acquire) == before && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
    }

    std::timed_mutex mutex_;
    std::atomic<int> askers_{0};
    std::atomic<std::uint32_t> served_{0};
};

}  // namespace spead::door
