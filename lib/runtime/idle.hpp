// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/plan.hpp"

namespace spead::runtime {

/// Decides what an lcore does when it has no work. Pure: the caller passes the time.
///
/// `busy` never gives the CPU away. `adaptive` polls for max_poll empty polls, then pauses between polls.
/// After kPatience without work it sleeps, each time twice as long, up to a limit that the receive ring can
/// absorb. `interrupt` polls for max_poll empty polls, then waits for a packet; lcores without interrupts are
/// adaptive.
class IdlePolicy {
  public:
    enum class Action : std::uint8_t { poll, pause, sleep, wait };
    struct Step {
        Action action;
        std::uint32_t microseconds;  ///< to sleep
    };

    static constexpr std::uint64_t kPatienceMicroseconds = 100;
    static constexpr std::uint32_t kShortestSleep = 20;

    IdlePolicy(PollMode mode, std::uint32_t max_poll, std::uint32_t longest_sleep_us, double ticks_per_us)
        : mode_(mode),
          max_poll_(max_poll),
          longest_sleep_(longest_sleep_us),
          patience_(static_cast<std::uint64_t>(static_cast<double>(kPatienceMicroseconds) * ticks_per_us)) {}

    void worked() noexcept {
        empty_polls_ = 0;
        next_sleep_ = kShortestSleep;
    }

    Step idle(std::uint64_t now) noexcept {
        if (mode_ == PollMode::busy)
            return {Action::poll, 0};
        if (empty_polls_ == 0)
            idle_since_ = now;
        if (++empty_polls_ <= max_poll_)
            return {Action::poll, 0};
        if (mode_ == PollMode::interrupt)
            return {Action::wait, 0};
        if (now - idle_since_ < patience_ || longest_sleep_ < kShortestSleep)
            return {Action::pause, 0};
        const std::uint32_t us = std::min(next_sleep_, longest_sleep_);
        next_sleep_ = std::min(next_sleep_ * 2, longest_sleep_);
        return {Action::sleep, us};
    }

    std::uint32_t longest_sleep() const noexcept { return longest_sleep_; }
    PollMode mode() const noexcept { return mode_; }
    /// Returns whether the lcore may sleep at all: small rings leave no time for it.
    bool may_sleep() const noexcept { return mode_ != PollMode::busy && longest_sleep_ >= kShortestSleep; }
    /// Sets the mode, before the policy is used or on its lcore.
    void set_mode(PollMode mode) noexcept { mode_ = mode; }
    void set_max_poll(std::uint64_t polls) noexcept { max_poll_ = polls; }

  private:
    PollMode mode_;
    std::uint64_t max_poll_;
    std::uint32_t longest_sleep_;
    std::uint64_t patience_;
    std::uint64_t empty_polls_ = 0;
    std::uint64_t idle_since_ = 0;
    std::uint32_t next_sleep_ = kShortestSleep;
};

/// Returns a quarter of the time in which packets of `packet_bytes` at `bits_per_second` fill `descriptors`,
/// in microseconds, at most a millisecond.
constexpr std::uint32_t longest_sleep_us(std::uint32_t descriptors, std::uint32_t packet_bytes,
                                         std::uint64_t bits_per_second) {
    if (bits_per_second == 0)
        return 1000;
    const std::uint64_t bits = std::uint64_t{descriptors} * packet_bytes * 8;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(1000, bits * 1'000'000 / bits_per_second / 4));
}

}  // namespace spead::runtime
