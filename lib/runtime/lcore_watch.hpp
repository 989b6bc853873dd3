// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/waiting_time.hpp"
#include "port/sysfs.hpp"
#include "runtime/thread_activity.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Watches one worker lcore from outside: whether it answers, since when not, and what its thread does
/// meanwhile. On a busy machine an lcore may be off its CPU for a while, so only one that has not answered
/// for kTell is silent. Belongs to the thread that asks the lcore.
class LcoreWatch {
  public:
    using Clock = std::chrono::steady_clock;
    static constexpr Clock::duration kTell = std::chrono::seconds(1);

    LcoreWatch(unsigned lcore, unsigned cpu, port::Sysfs files = port::Sysfs())
        : lcore_(lcore), cpu_(cpu), files_(std::move(files)) {}

    enum class News : std::uint8_t { none, silent, back };
    /// Notes that the lcore was asked and has not answered yet. Call it repeatedly until it has. `thread`:
    /// gettid(2) on the lcore; 0: unknown.
    News waited(int thread, Clock::time_point now = Clock::now());
    News answered();

    bool silent() const noexcept { return silent_; }
    /// Returns how long it has not answered; 0: it answers. Time in which the asking thread did not run
    /// hardly counts.
    Clock::duration silence() const noexcept { return waiting_ ? waited_.total() : Clock::duration::zero(); }
    /// Returns how often it was silent.
    std::uint64_t silences() const noexcept { return silences_; }
    /// Returns what its thread does while it is silent, as a clause: "it sleeps in the kernel (pipe_write)".
    const std::string& activity() const noexcept { return activity_; }
    /// Returns its name: "lcore 2 on CPU 3".
    std::string name() const;
    /// Returns a report of silence: "lcore 2 on CPU 3 has not answered for 1.5 s: it is stopped, by a
    /// debugger or SIGSTOP".
    std::string sentence() const;
    /// Returns a report of News::back: "lcore 2 on CPU 3 answers again, after 1.5 s".
    std::string end_sentence() const;

  private:
    void look(int thread, Clock::time_point now);
    stats::LcoreSnapshot snapshot() const;

    /// Limits the time between two calls of waited() while the asking thread runs.
    static constexpr Clock::duration kLongestRound = std::chrono::milliseconds(100);
    static constexpr Clock::duration kLookAgain = std::chrono::seconds(1);

    unsigned lcore_;
    unsigned cpu_;
    port::Sysfs files_;
    bool waiting_ = false;
    bool silent_ = false;
    std::uint64_t silences_ = 0;
    WaitingTime waited_{kLongestRound, Clock::time_point{}};
    Clock::duration last_silence_{0};
    std::optional<ThreadFacts> facts_;  ///< of the last look
    Clock::time_point looked_{};
    std::string activity_;
};

}  // namespace spead::runtime
