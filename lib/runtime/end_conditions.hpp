// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/waiting_time.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Says why a run ended.
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

/// Describes a run at one moment, as far as its end depends on it.
struct EndFacts {
    bool failed = false;         ///< an lcore, consumer, sender or sink that the run needs has failed
    bool heaps_used_up = false;  ///< EndPlan::heaps were delivered
    bool captured = false;       ///< the run only captures, and all captures are over
    double seconds = 0;          ///< of the run
    std::uint64_t progress = 0;  ///< packets of streams plus heaps delivered; never decreases
    bool silent = false;         ///< an lcore does not answer, or an engine stands still: nothing can change
    bool queued = false;         ///< heaps are waiting for a consumer
    bool stop_items = false;     ///< every endpoint of every stream has seen a stop item
    bool receives = false;       ///< there are streams
    bool sources_ended = false;  ///< of all streams
    bool sent = false;           ///< there are senders, and all have finished
    bool all_received = false;   ///< all sent packets have come back to the streams
    bool own_only = false;       ///< streams receive only this run's packets
};

/// Decides when a run ends. Pure; the caller passes the time.
class EndConditions {
  public:
    using Clock = std::chrono::steady_clock;

    explicit EndConditions(Clock::time_point now = Clock::now()) : unchanged_(kLongestRound, now) {}

    /// Starts to count the time without progress.
    void begin(Clock::time_point now = Clock::now()) noexcept { unchanged_.restart(now); }
    /// Lets the run end neither with its sources nor with its senders.
    void stay() noexcept { stays_ = true; }
    bool stays() const noexcept { return stays_; }

    /// Returns the reason when the run ends now. Call it at every round.
    std::optional<EndReason> check(const EndPlan& plan, const EndFacts& now,
                                   Clock::time_point time = Clock::now());

  private:
    static constexpr std::chrono::milliseconds kLongestRound{100};

    bool stays_ = false;
    std::uint64_t last_progress_ = 0;
    WaitingTime unchanged_;  ///< since the last progress
};

}  // namespace spead::runtime
