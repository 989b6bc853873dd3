// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/engine.hpp"
#include "runtime/executor.hpp"
#include "runtime/layout.hpp"
#include "runtime/plan.hpp"
#include "spead/eal_start.hpp"

namespace spead::door {

/// Runs one plan from its layout to its end: the only owner of an engine and of the executor that it serves.
/// The library's Session, the program's run and the benches use it.
///
/// One thread, which EAL knows as the main lcore, opens and runs it; any other may call on_engine() and
/// executor() meanwhile. In the order of the functions below. Not installed.
class PlanRun {
  public:
    /// Lays the plan out and opens nothing. `eal` outlives this. Throws Error when the plan does not fit.
    PlanRun(runtime::Plan plan, EalStart& eal);
    /// Calls end().
    ~PlanRun() { end(); }
    PlanRun(const PlanRun&) = delete;
    PlanRun& operator=(const PlanRun&) = delete;

    const runtime::Plan& plan() const noexcept { return plan_; }  ///< as it was laid out
    runtime::Layout& layout() noexcept { return layout_; }
    const runtime::Layout& layout() const noexcept { return layout_; }

    /// Names the lcores that the workers of the layout become.
    enum class Lcores {
        of_plan,
        of_eal,  ///< those that the user's arguments gave EAL; for a plan without streams
    };
    /// Starts EAL unless it runs, and looks up which lcores the user chose. Throws Error.
    void start_eal(Lcores lcores = Lcores::of_plan);
    /// Makes the engine and its executor: opens the ports and makes all memory. After end() once more. Throws
    /// Error.
    void open(const runtime::EngineHooks& hooks);
    /// Returns whether there is an engine: between open() and end(). While it is made or freed there is none.
    bool is_open() const noexcept { return engine_ != nullptr; }
    /// Returns the engine, between open() and end(), on this thread only.
    runtime::Engine& engine() noexcept { return *engine_; }
    /// Calls Engine::run. When it returns or throws, no other thread waits for this one any more.
    runtime::EndReason run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick);
    /// Ends the engine, and frees it. Idempotent.
    void end() noexcept;

    /// Serves from open() on, and refuses after run().
    runtime::Executor& executor() noexcept { return *executor_; }
    /// Runs `function(engine)` on the main thread: Executor::call. Any other thread, after open().
    template <typename Function>
    auto on_engine(Function&& function, std::chrono::nanoseconds patience = runtime::Executor::kPatience) {
        return executor_->call([&] { return function(*engine_); }, patience);
    }

  private:
    void adopt_lcores();

    EalStart& eal_;
    runtime::Plan plan_;
    runtime::Layout layout_;
    std::optional<runtime::Executor> executor_;
    std::unique_ptr<runtime::Engine> engine_;
};

}  // namespace spead::door
