// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_views.hpp"

#include <unistd.h>

#include <rte_version.h>

#include "base/log.hpp"

namespace spead::app {

namespace {

/// Returns telemetry's facts about the process itself.
nlohmann::ordered_json facts_of(const runtime::Plan& plan) {
    return {{"name", plan.runtime.name}, {"version", DPDK_SPEAD_VERSION}, {"pid", getpid()}};
}

}  // namespace

RunViews::RunViews(const runtime::Plan& plan, const runtime::Layout& layout)
    : latest_(std::make_shared<stats::LatestSnapshot>()),
      telemetry_(std::make_shared<observe::TelemetryAnswers>(latest_, facts_of(plan))) {
    if (!plan.runtime.metrics)
        return;
    metrics_.emplace(latest_, *plan.runtime.metrics, layout.control_cpus(),
                     observe::ProcessIdentity{plan.runtime.name, DPDK_SPEAD_VERSION, rte_version()});
    log_notice(LogType::app, "metrics are at http://{}/metrics", to_string(metrics_->address()));
}

}  // namespace spead::app
