// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/waiting_time.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Why a run ended.
enum class EndReason : std::uint8_t {
    interrupted,
    heaps,
    captured,
    duration,
    idle,
    stop_items,
    end_of_data,
    sent,
    failure
};

const char* name_of(EndReason reason);

/// What a run looks like at one moment, as far as its end depends on it.
struct EndFacts {
    bool failed = false;         ///< something that the run needs: an lcore, a consumer, a sender, a sink
    bool heaps_used_up = false;  ///< EndPlan::heaps were delivered
    bool captured = false;       ///< the run only captures, and all captures are over
    double seconds = 0;          ///< of the run
    std::uint64_t progress = 0;  ///< packets of streams and heaps delivered; never less than before
    bool silent = false;         ///< an lcore is silent: what it has had is not known
    bool queued = false;         ///< heaps wait for a consumer
    bool stop_items = false;     ///< every endpoint of every stream has seen one
    bool receives = false;       ///< there are streams
    bool sources_ended = false;  ///< of all streams
    bool sent = false;           ///< there are senders, and all have finished
    bool all_received = false;   ///< what was sent has come back to the streams
    bool own_only = false;       ///< streams receive only what this run sends
};

/// Decides when a run ends. Pure but for the clock, which is the caller's.
class EndConditions {
  public:
    using Clock = std::chrono::steady_clock;

    explicit EndConditions(Clock::time_point now = Clock::now()) : unchanged_(kLongestRound, now) {}

    /// Begins to count the time without progress.
    void begin(Clock::time_point now = Clock::now()) noexcept { unchanged_.restart(now); }
    /// The run ends neither with its sources nor with its senders.
    void stay() noexcept { stays_ = true; }
    bool stays() const noexcept { return stays_; }

    /// Returns why the run ends now, if it does. To be called at every round.
    std::optional<EndReason> check(const EndPlan& plan, const EndFacts& now,
                                   Clock::time_point time = Clock::now());

  private:
    static constexpr std::chrono::milliseconds kLongestRound{100};

    bool stays_ = false;
    std::uint64_t last_progress_ = 0;
    WaitingTime unchanged_;  ///< since the last progress
};

}  // namespace spead::runtime
