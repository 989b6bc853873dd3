// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/mailbox.hpp"
#include "runtime/worker.hpp"

namespace spead::runtime {

/// Reports that an lcore has not answered for as long as the run waits for one: the run ends.
class LcoreLost : public Error {
  public:
    using Error::Error;
};

/// Holds the worker lcores of a run, and calls functions on them for the main thread.
///
/// Main thread only. An lcore that does not answer is waited for, reported as silent after LcoreWatch::kTell,
/// and given up as lost after the patience. A lost lcore is not asked again. Memory that a lost lcore may
/// touch is not freed before stop() has seen it end.
class LcoreSet {
  public:
    using Clock = std::chrono::steady_clock;

    /// Holds functions that are called while an lcore is waited for. They must not ask lcores.
    struct Hooks {
        /// Is called when an lcore becomes silent (true) or answers again.
        std::function<void(const Worker&, bool silent)> on_silence;
        /// Is called every kTellWaiting while a silent lcore is waited for.
        std::function<void()> on_wait;
    };

    /// Adds lost lcores to `problems`, which outlive the set.
    LcoreSet(std::vector<std::string>& problems, Hooks hooks)
        : problems_(problems), hooks_(std::move(hooks)) {}

    Worker& add(const WorkerLayout& layout) {
        return *workers_.emplace_back(std::make_unique<Worker>(layout));
    }
    auto begin() const noexcept { return workers_.begin(); }
    auto end() const noexcept { return workers_.end(); }
    /// Returns the worker whose lcore was planned on the CPU, which is one of the layout's.
    Worker& on_cpu(unsigned cpu) const;

    /// Sets how long to wait for an lcore that does not answer.
    void set_patience(Clock::duration patience) noexcept { patience_ = patience; }
    /// Does the same with a plan's timeout in seconds (0: no limit), or with `otherwise` if it has none.
    void set_patience(const std::optional<double>& timeout, Clock::duration otherwise) noexcept;
    /// Limits waits for lcores to kEndPatience, since the run ends.
    void end_soon() noexcept { ending_ = true; }
    /// Does the same from the moment when the descriptor is readable; -1: none.
    void set_interrupt(int fd) noexcept { interrupt_fd_ = fd; }

    /// Makes launch() leave out lcores that are not needed yet. The main thread itself carries out their
    /// requests.
    void launch_only(std::function<bool(const Worker&)> needed) { needed_ = std::move(needed); }
    /// Starts the loops of the lcores that are needed and do not run. Throws Error.
    void launch();
    /// Ends the loops of all lcores and waits for them; for a lost one `longest` at most.
    void stop(Clock::duration longest);

    /// Runs `function(arguments...)` on the worker's lcore between two bursts (see LcoreCall) and returns its
    /// result. Returns none when the lcore has not answered within the patience; the function may still run.
    /// The caller's object owns all arguments before the call, because from then on the lcore may have them.
    template <typename Function, typename... Arguments>
    [[nodiscard]] auto try_ask(Worker& w, Function function, Arguments... arguments) {
        using Call = LcoreCall<Function, Arguments...>;
        std::optional<typename Call::Result> result;
        if (const auto job = have_done(w, std::make_unique<Call>(function, std::move(arguments)...)))
            result.emplace(static_cast<Call&>(*job).take_result());
        return result;
    }
    /// Does the same for calls that must succeed: throws LcoreLost.
    template <typename Function, typename... Arguments>
    auto ask(Worker& w, Function function, Arguments... arguments) {
        auto result = try_ask(w, function, std::move(arguments)...);
        if (!result)
            throw_lost(w);
        return std::move(*result);
    }

    /// Takes a look at the lcore's counts. Returns null when the lcore is silent: it takes the look when it
    /// answers again, unless the look was withdrawn for another request. Calls `make` if no look is pending.
    std::unique_ptr<LcoreLook> look(Worker& w, const std::function<std::unique_ptr<LcoreLook>()>& make);

    bool any_lost() const;
    /// Returns whether an lcore is silent, or lost.
    bool any_silent() const;
    /// Throws Error while an lcore is silent: a change needs all lcores.
    void need_answers() const;

  private:
    std::unique_ptr<LcoreJob> have_done(Worker& w, std::unique_ptr<LcoreJob> job);
    bool is_clear(Worker& w);
    bool keep_waiting(Worker& w);
    void heard(Worker& w);
    void lose(Worker& w);
    [[noreturn]] static void throw_lost(const Worker& w);
    Clock::duration patience() const;

    std::vector<std::string>& problems_;
    Hooks hooks_;
    std::function<bool(const Worker&)> needed_;  ///< empty: all are
    std::vector<std::unique_ptr<Worker>> workers_;
    Clock::duration patience_ = std::chrono::seconds(30);
    bool ending_ = false;
    int interrupt_fd_ = -1;
    Clock::time_point next_wait_{};
};

}  // namespace spead::runtime
