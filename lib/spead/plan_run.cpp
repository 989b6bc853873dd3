// SPDX-License-Identifier: BSD-3-Clause
#include "spead/plan_run.hpp"

#include <utility>

namespace spead::door {

PlanRun::PlanRun(runtime::Plan plan, EalStart& eal)
    : eal_(eal), plan_(std::move(plan)), layout_(eal.lay_out(plan_)) {}

/// Takes EAL's lcores over: without streams all workers are alike.
void PlanRun::adopt_lcores() {
    const runtime::Eal::Cpus eal = runtime::Eal::cpus();
    plan_.runtime.main_cpu = eal.main;
    plan_.runtime.lcores = eal.workers;
    if (eal.workers.empty() || layout_.workers.empty())
        return;
    layout_.workers.resize(eal.workers.size(), layout_.workers.front());
    for (std::size_t i = 0; i < eal.workers.size(); i++)
        layout_.workers[i].cpu = layout_.workers[i].planned_cpu = eal.workers[i];
}

void PlanRun::start_eal(Lcores lcores) {
    eal_.start();
    if (lcores == Lcores::of_eal)
        adopt_lcores();
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
