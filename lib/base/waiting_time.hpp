// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>

namespace spead {

/// Sums the time that a thread has waited, round by round. Time in which the thread did not run, because its
/// process was stopped or the machine was busy, hardly counts: a round counts for `longest_round` at most.
class WaitingTime {
  public:
    using Clock = std::chrono::steady_clock;

    explicit WaitingTime(Clock::duration longest_round, Clock::time_point now = Clock::now()) noexcept
        : longest_round_(longest_round), last_(now) {}

    /// Adds the round that ends now. Returns the sum.
    Clock::duration add(Clock::time_point now = Clock::now()) noexcept {
        total_ += std::clamp(now - last_, Clock::duration::zero(), longest_round_);
        last_ = now;
        return total_;
    }
    Clock::duration total() const noexcept { return total_; }
    /// Begins at zero again.
    void restart(Clock::time_point now = Clock::now()) noexcept {
        total_ = Clock::duration::zero();
        last_ = now;
    }

  private:
    Clock::duration longest_round_;
    Clock::time_point last_;
    Clock::duration total_{0};
};

}  // namespace spead
