// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

namespace spead::send {

/// Measures for how long a port has taken nothing that it was offered, and given nothing back. From kSeconds
/// on that is an outage.
///
/// Time counts only while the port is asked: an lcore that did not run cannot say that the port took nothing.
/// Pure; belongs to the lcore.
class PortOutage {
  public:
    static constexpr double kSeconds = 1;

    /// Takes `hz`, the ticks per second of the `now` of refused().
    explicit PortOutage(double hz) noexcept
        : outage_(static_cast<std::uint64_t>(hz * kSeconds)),
          longest_step_(static_cast<std::uint64_t>(hz * kLongestStep)) {}

    /// Notes that the port took nothing. Returns by how many ticks an outage has become longer; at its
    /// beginning, all of it.
    std::uint64_t refused(std::uint64_t now) noexcept {
        const bool lasted = lasts();
        const std::uint64_t step = asked_ ? std::min(now - std::min(now, last_), longest_step_) : 0;
        asked_ = true;
        last_ = now;
        ticks_ += step;
        return lasted ? step : lasts() ? ticks_ : 0;
    }
    /// Notes that the port was not asked, for lack of packets or of a queue.
    void pause() noexcept { asked_ = false; }
    /// Notes that the port took something or gave something back, or is another.
    void end() noexcept {
        asked_ = false;
        ticks_ = 0;
    }

    /// Returns whether the port has taken nothing since.
    bool begun() const noexcept { return asked_ || ticks_ != 0; }
    bool lasts() const noexcept { return ticks_ >= outage_; }

  private:
    /// Limits the counted time between two attempts. Idle lcores rest for less.
    static constexpr double kLongestStep = 0.05;

    std::uint64_t outage_;
    std::uint64_t longest_step_;
    std::uint64_t ticks_ = 0;
    std::uint64_t last_ = 0;
    bool asked_ = false;
};

}  // namespace spead::send
