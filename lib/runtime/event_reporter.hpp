// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "runtime/event_command.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Reports each event of a run once through every channel: the log, the hooks, and the user's command.
///
/// Main thread only. The command runs beside the run (EventCommand); nothing here waits for it but end().
class EventReporter {
  public:
    struct Hooks {
        std::function<void(const std::string& stream, const stats::LastEvent& event)> on_event;
        std::function<void(const std::string& what, double at_s)> on_lcore{};
        std::function<void(const std::string& what, double at_s)> on_engine{};
    };
    /// Reports that an lcore has stopped answering, or answers again.
    struct LcoreEvent {
        unsigned lcore = 0;
        unsigned cpu = 0;
        bool silent = false;
        std::string text;  ///< a sentence that names the lcore
        double at_s = 0;   ///< of the run
    };

    /// Reports that an engine stands still, or does so no longer.
    struct EngineEvent {
        std::string engine;  ///< its name
        bool stalled = false;
        std::string text;  ///< a sentence that names the engine
        double at_s = 0;   ///< of the run
    };

    /// Takes the run's `name` for the command. `command` is a program and its arguments, or empty. Throws
    /// Error when there is no such program.
    EventReporter(std::string name, const std::vector<std::string>& command, Hooks hooks);

    /// Reports an event of a stream or a sender.
    void report(const std::string& stream, const stats::LastEvent& event);
    void report(const LcoreEvent& event);
    void report(const EngineEvent& event);
    /// Reaps a finished command and starts the next. Call it at every round.
    void poll();
    /// Gives the command kEndWait to run for events that came before. Then kills it; no other is started.
    void end() noexcept;
    static constexpr std::chrono::seconds kEndWait{5};

  private:
    const std::string name_;
    Hooks hooks_;
    std::optional<EventCommand> command_;
    LogLimiter lcore_news_;
    LogLimiter engine_news_;
};

}  // namespace spead::runtime
