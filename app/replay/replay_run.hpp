// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/replay/replay_options.hpp"
#include "port/impaired_queue.hpp"
#include "port/port.hpp"
#include "process/stop_signals.hpp"
#include "replay/replay.hpp"
#include "runtime/lcore_watch.hpp"

namespace spead::app {

/// Describes the sending lcore from outside.
struct ReplayLcore {
    unsigned lcore = 0;
    unsigned cpu = 0;
    bool shares_cpu = false;
    std::chrono::steady_clock::duration patience{};  ///< until it is given up
};

/// Runs a replay between the port's start and its stop. The main thread calls it; its arguments outlive it.
class ReplayRun {
  public:
    /// Takes the replay's objects. `impaired` may be null.
    ReplayRun(const ReplayOptions& options, const ReplayLcore& lcore, port::Port& port,
              replay::Replay& replay, port::ImpairedQueue* impaired, process::StopSignals& signals);
    ~ReplayRun();
    ReplayRun(const ReplayRun&) = delete;
    ReplayRun& operator=(const ReplayRun&) = delete;

    /// Returns at the end of the replay, or when a signal came; threads that read files run on the CPUs of
    /// `control`.
    void go(const std::vector<unsigned>& control);

    /// Returns whether the lcore is lost: it still has the port, the replay and its arguments.
    bool lost() const { return lost_; }
    void leave_to_lcore();

    double seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }
    const replay::PlayerCounters& counters() const { return counters_; }
    const std::vector<std::string>& problems() const { return problems_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Sending;
    /// Holds the lcore's counts, and whether it waits for a packet's time, or for the end of a delay.
    struct Sent {
        replay::PlayerCounters counters;
        bool has_time = false;
    };

    bool interrupted();
    bool wait_for_link();
    void launch();
    void wait_for_end();
    void end_lcore();
    void wait_for_impaired();
    bool wait_for(const std::function<bool()>& done);
    void heard();
    void keep_waiting();
    std::optional<Sent> look();

    const ReplayOptions& options_;
    const ReplayLcore place_;
    port::Port& port_;
    replay::Replay& replay_;
    port::ImpairedQueue* impaired_;
    process::StopSignals& signals_;
    std::unique_ptr<Sending> sending_;
    runtime::LcoreWatch watch_;
    bool ending_ = false;
    bool lost_ = false;
    Clock::time_point begin_{};
    Clock::time_point end_{};
    replay::PlayerCounters counters_;
    std::vector<std::string> problems_;
};

}  // namespace spead::app
