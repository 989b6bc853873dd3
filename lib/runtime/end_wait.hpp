// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/waiting_time.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

/// Describes progress at the end of a run, and the causes of delay.
struct EndProgress {
    std::uint64_t sent = 0;      ///< packets
    std::uint64_t received = 0;  ///< packets of streams
    std::uint64_t finished = 0;  ///< heaps, by the consumers that streams wait for
    bool pacing = false;         ///< a sender waits for its scheduled time
    bool blocked = false;        ///< a stream waits for its consumer
    bool silent = false;         ///< an lcore does not answer: its state is unknown
};

/// Decides how long the end of a run waits for one step.
///
/// Pure; the caller passes the time. The wait ends when `progress` has not changed for `patience`, or after
/// `longest`. While a stream waits for its consumer, only the consumer's patience counts.
class EndWait {
  public:
    using Clock = std::chrono::steady_clock;

    enum class Result : std::uint8_t {
        done,
        stuck,     ///< no progress for `patience`
        consumer,  ///< a consumer has not finished a heap within its patience
        too_long   ///< still in progress after `longest`
    };
    struct Limits {
        std::uint64_t EndProgress::*progress = nullptr;
        Clock::duration patience{};
        Clock::duration longest = Clock::duration::max();
    };

    EndWait(const Limits& limits, Clock::duration consumer_patience,
            Clock::time_point now = Clock::now()) noexcept
        : limits_(limits), consumer_patience_(consumer_patience), all_(kRound, now), since_(kRound, now) {}

    /// Adds the round that ends now. Returns why the wait for the step ends, or nothing while it continues.
    std::optional<Result> round(const EndProgress& now, Clock::time_point time = Clock::now()) noexcept;

    /// Returns whether a stream has waited for its consumer long enough to report it to the user.
    bool is_held_up() const noexcept { return last_.blocked && since_.total() > kTell; }

    static constexpr std::chrono::seconds kTell{3};

  private:
    const Limits limits_;
    const Clock::duration consumer_patience_;
    EndProgress last_;
    WaitingTime all_;
    WaitingTime since_;       ///< since the last progress
    Clock::duration own_{0};  ///< time not spent waiting for a consumer
};

}  // namespace spead::runtime
