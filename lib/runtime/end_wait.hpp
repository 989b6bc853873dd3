// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/waiting_time.hpp"
#include "runtime/waits.hpp"

namespace spead::runtime {

/// What moves at the end of a run, and what holds it up.
struct EndProgress {
    std::uint64_t sent = 0;      ///< packets
    std::uint64_t received = 0;  ///< packets of streams
    std::uint64_t finished = 0;  ///< heaps, by the consumers that streams wait for
    bool pacing = false;         ///< a sender waits for its time
    bool blocked = false;        ///< a stream waits for its consumer
    bool silent = false;         ///< an lcore does not answer: what it does is not known
};

/// Decides how long a step at the end of a run is waited for.
///
/// Pure but for the clock, which is the caller's. The wait ends when `progress` has not changed for
/// `patience`, or after `longest`. While a stream waits for its consumer, only the consumer's patience
/// counts.
class EndWait {
  public:
    using Clock = std::chrono::steady_clock;

    enum class Result : std::uint8_t {
        done,
        stuck,     ///< nothing has moved for `patience`
        consumer,  ///< a consumer has not finished a heap for its patience
        too_long   ///< it has moved on for `longest`
    };
    struct Limits {
        std::uint64_t EndProgress::*progress = nullptr;
        Clock::duration patience{};
        Clock::duration longest = Clock::duration::max();
    };

    EndWait(const Limits& limits, Clock::duration consumer_patience,
            Clock::time_point now = Clock::now()) noexcept
        : limits_(limits), consumer_patience_(consumer_patience), all_(kRound, now), since_(kRound, now) {}

    /// Adds the round that ends now. Returns why the step is no longer waited for, or nothing: then it is.
    std::optional<Result> round(const EndProgress& now, Clock::time_point time = Clock::now()) noexcept;

    /// Whether a stream has been waiting for its consumer so long that a user should be told.
    bool is_held_up() const noexcept { return last_.blocked && since_.total() > kTell; }

    static constexpr std::chrono::seconds kTell{3};

  private:
    const Limits limits_;
    const Clock::duration consumer_patience_;
    EndProgress last_;
    WaitingTime all_;
    WaitingTime since_;       ///< the last progress
    Clock::duration own_{0};  ///< not spent on a consumer
};

}  // namespace spead::runtime
