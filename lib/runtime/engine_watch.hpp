// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/waiting_time.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Measures for how long a channel has had batches of which the engine finishes none. Time in which the
/// watching thread did not run hardly counts. One thread.
class ChannelWatch {
  public:
    using Clock = std::chrono::steady_clock;

    /// Takes a look at Channel::done() and in_flight(). Returns that time; 0: the engine has nothing to do,
    /// or has finished a batch since the last look.
    Clock::duration look(std::uint64_t done, std::uint64_t in_flight, Clock::time_point now);

  private:
    /// Limits the time between two looks while the watching thread runs.
    static constexpr Clock::duration kLongestRound = std::chrono::milliseconds(100);

    std::uint64_t done_ = 0;
    bool waits_ = false;
    WaitingTime waited_{kLongestRound, Clock::time_point{}};
};

/// Watches one engine from outside: whether it moves the payload that it was given. Only one that has moved
/// nothing for kTell stands still. One thread.
class EngineWatch {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kTell = std::chrono::seconds(1);

    explicit EngineWatch(std::string engine) : engine_(std::move(engine)) {}

    enum class News : std::uint8_t { none, stalled, back };
    /// Takes the longest time of its channels. `failed`: for good.
    News update(Clock::duration quiet, bool failed = false);

    bool stalled() const noexcept { return stalled_; }
    /// Returns whether it has moved nothing for so long that silence of its streams says nothing about them.
    /// After a failure, nothing waits for it.
    bool may_stand_still() const noexcept { return quiet_ >= kDoubtful && !failed_; }
    /// Returns what snapshots tell of it, without its streams.
    stats::EngineSnapshot snapshot() const;
    /// Returns a report of News::back: "the engine `cuda` moves payload again, after 4.2 s".
    std::string end_sentence() const;

  private:
    static constexpr Clock::duration kDoubtful = std::chrono::milliseconds(250);

    std::string engine_;
    bool stalled_ = false;
    bool failed_ = false;
    std::uint64_t stalls_ = 0;
    Clock::duration quiet_{0};
    Clock::duration last_stall_{0};
    Clock::duration former_stalls_{0};  ///< all that are over
};

}  // namespace spead::runtime
