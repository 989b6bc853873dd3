// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace spead::runtime {

/// Counts the seconds of a run: 0 before it starts, fixed once it has stopped.
class RunClock {
  public:
    using Clock = std::chrono::steady_clock;

    void start(Clock::time_point now = Clock::now()) noexcept {
        begin_ = now;
        started_ = true;
    }
    void stop(Clock::time_point now = Clock::now()) noexcept {
        end_ = now;
        stopped_ = true;
    }
    bool started() const noexcept { return started_; }
    bool stopped() const noexcept { return stopped_; }
    double seconds(Clock::time_point now = Clock::now()) const noexcept {
        return started_ ? std::chrono::duration<double>((stopped_ ? end_ : now) - begin_).count() : 0;
    }

  private:
    bool started_ = false;
    bool stopped_ = false;
    Clock::time_point begin_{};
    Clock::time_point end_{};
};

}  // namespace spead::runtime
