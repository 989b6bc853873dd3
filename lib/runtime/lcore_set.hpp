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

/// Thrown when an lcore has not answered for as long as the run waits for one: the run ends.
class LcoreLost : public Error {
  public:
    using Error::Error;
};

/// The worker lcores of a run, and the way in which the main thread reaches what they own.
///
/// Main thread only. An lcore that does not answer is waited for, reported as silent after LcoreWatch::kTell,
/// and given up as lost after the patience: then it is not asked again. Nothing that a lost lcore may touch
/// is freed before stop() has seen it end.
class LcoreSet {
  public:
    using Clock = std::chrono::steady_clock;

    /// Called while an lcore is waited for. They must not ask lcores.
    struct Hooks {
        /// An lcore has fallen silent (true), or is back.
        std::function<void(const Worker&, bool silent)> on_silence;
        /// A silent lcore is waited for; called every kTellWaiting.
        std::function<void()> on_wait;
    };

    /// `problems` outlives the set: a lost lcore is a problem of the run.
    LcoreSet(std::vector<std::string>& problems, Hooks hooks)
        : problems_(problems), hooks_(std::move(hooks)) {}

    Worker& add(const WorkerLayout& layout) {
        return *workers_.emplace_back(std::make_unique<Worker>(layout));
    }
    auto begin() const noexcept { return workers_.begin(); }
    auto end() const noexcept { return workers_.end(); }
    /// Returns the worker whose lcore was planned on the CPU, which is one of the layout's.
    Worker& on_cpu(unsigned cpu) const;

    /// Sets how long an lcore that does not answer is waited for.
    void set_patience(Clock::duration patience) noexcept { patience_ = patience; }
    /// Does the same with a plan's timeout in seconds (0: for ever), or with `otherwise` if it has none.
    void set_patience(const std::optional<double>& timeout, Clock::duration otherwise) noexcept;
    /// The run ends: no lcore is waited for longer than kEndPatience.
    void end_soon() noexcept { ending_ = true; }
    /// The same from the moment when the descriptor is readable; -1: none.
    void set_interrupt(int fd) noexcept { interrupt_fd_ = fd; }

    /// Has launch() leave out lcores that are not needed yet; the main thread itself carries out what they
    /// are asked.
    void launch_only(std::function<bool(const Worker&)> needed) { needed_ = std::move(needed); }
    /// Starts the loops of the lcores that are needed and do not run. Throws Error.
    void launch();
    /// Ends the loops of all lcores, and waits for them; for one that is lost, `longest` at most.
    void stop(Clock::duration longest);

    /// Has the worker's lcore run `function(arguments...)` between two bursts (see LcoreCall) and returns
    /// what that returns. None: the lcore has not answered for as long as the run waits for one; the function
    /// may still run. Whatever the lcore gets is owned by the caller's object before the lcore is asked: from
    /// then on the lcore may have it.
    template <typename Function, typename... Arguments>
    [[nodiscard]] auto try_ask(Worker& w, Function function, Arguments... arguments) {
        using Call = LcoreCall<Function, Arguments...>;
        std::optional<typename Call::Result> result;
        if (const auto job = have_done(w, std::make_unique<Call>(function, std::move(arguments)...)))
            result.emplace(static_cast<Call&>(*job).take_result());
        return result;
    }
    /// Does the same for what must be done: throws LcoreLost.
    template <typename Function, typename... Arguments>
    auto ask(Worker& w, Function function, Arguments... arguments) {
        auto result = try_ask(w, function, std::move(arguments)...);
        if (!result)
            throw_lost(w);
        return std::move(*result);
    }

    /// Takes a look at what the lcore counts. Null: the lcore is silent, and the look is taken when it comes
    /// back, or makes way for something else. `make` is called where no look is on its way yet.
    std::unique_ptr<LcoreLook> look(Worker& w, const std::function<std::unique_ptr<LcoreLook>()>& make);

    bool any_lost() const;
    /// Whether an lcore is silent, or lost.
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
