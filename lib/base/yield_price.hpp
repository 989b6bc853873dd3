// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace spead {

/// Tells a thread that waits for another one whether to yield its CPU or to sleep. Pure: the caller yields,
/// sleeps and passes the times, in any unit.
///
/// A yield between threads of our own is the cheapest hand-over, and returns within microseconds. If a
/// stranger wants the CPU, it gets a whole turn of some milliseconds, and the kernel counts a turn as used up
/// for every yield. A sleep keeps the thread's claim to its CPU. So after a long yield the thread sleeps
/// instead, and tries a yield again later, after longer times if that goes on.
class YieldPrice {
  public:
    static constexpr std::uint64_t kDearMicroseconds = 200;
    static constexpr std::uint64_t kFirstPauseMicroseconds = 10'000;
    static constexpr std::uint64_t kLongestPauseMicroseconds = 1'000'000;
    /// Holds how many cheap yields in a row let the next pause be a short one.
    static constexpr unsigned kCheapRun = 1000;

    explicit YieldPrice(std::uint64_t units_per_us = 1) : units_per_us_(units_per_us) {}

    /// Returns whether to sleep at `now`, and not to yield.
    bool dear(std::uint64_t now) const noexcept { return now < dear_until_; }

    /// Notes a yield that began and returned then.
    void yielded(std::uint64_t begun, std::uint64_t returned) noexcept {
        if (returned - begun < kDearMicroseconds * units_per_us_) {
            if (++cheap_ == kCheapRun)
                pause_ = kFirstPauseMicroseconds;
            return;
        }
        cheap_ = 0;
        dear_until_ = returned + pause_ * units_per_us_;
        pause_ = std::min(2 * pause_, kLongestPauseMicroseconds);
    }

  private:
    std::uint64_t units_per_us_;
    std::uint64_t dear_until_ = 0;
    std::uint64_t pause_ = kFirstPauseMicroseconds;
    unsigned cheap_ = 0;
};

}  // namespace spead
