// SPDX-License-Identifier: BSD-3-Clause
#include "spead/plan_run.hpp"

#include <utility>

namespace spead::door {

PlanRun::PlanRun(runtime::Plan plan, EalStart& eal)
    : eal_(eal), plan_(std::move(plan)), layout_(eal.lay_out(plan_)) {}

void PlanRun::start_eal() {
    eal_.start();
    runtime::use_lcores_of_eal(layout_, eal_.options());
}

void PlanRun::open(const runtime::EngineHooks& hooks) {
    executor_.emplace();
    engine_ = std::make_unique<runtime::Engine>(plan_, layout_, hooks);
    engine_->serve(*executor_);
}

runtime::EndReason PlanRun::run(int interrupt_fd, const std::function<void(const stats::Snapshot&)>& tick) {
    struct CloseLast {
        runtime::Executor& executor;
        ~CloseLast() { executor.close(); }
    };
    const CloseLast close_last{*executor_};
    return engine_->run(interrupt_fd, tick);
}

void PlanRun::end() noexcept {
    if (executor_)
        executor_->close();
    engine_.reset();
}

}  // namespace spead::door
