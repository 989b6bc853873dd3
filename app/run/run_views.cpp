// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_views.hpp"

#include <chrono>
#include <optional>
#include <unistd.h>
#include <utility>

#include <rte_version.h>

#include "base/log.hpp"
#include "base/shared_directory.hpp"

namespace spead::app {

namespace {

/// Returns the facts about the process itself, for telemetry and the API.
observe::Json facts_of(const runtime::Plan& plan) {
    return {{"name", plan.runtime.name}, {"version", DPDK_SPEAD_VERSION}, {"pid", getpid()}};
}

}  // namespace

RunViews::RunViews(const runtime::Plan& plan, const runtime::Layout& layout)
    : latest_(std::make_shared<stats::LatestSnapshot>()),
      telemetry_(std::make_shared<observe::TelemetryAnswers>(latest_, facts_of(plan))),
      events_(std::make_shared<observe::EventLog>()) {
    if (!plan.runtime.metrics)
        return;
    std::optional<observe::ApiToken> token;
    if (!plan.runtime.api_token_file.empty())
        token.emplace(plan.runtime.api_token_file);
    observe::Json facts = facts_of(plan);
    // Tells a client that comes back whether this is the run that it knows.
    facts["started"] =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    facts["changes"] = token.has_value();
    facts["directory"] = shared_directory();
    api_.emplace(Api::Options{latest_, events_, std::move(facts), std::move(token), layout.control_cpus()});
    metrics_.emplace(
        *plan.runtime.metrics, layout.control_cpus(),
        observe::MetricsSite{.latest = latest_,
                             .identity = {plan.runtime.name, DPDK_SPEAD_VERSION, rte_version()},
                             .longest_silence = observe::longest_silence(plan.runtime.lcore_timeout),
                             .more = [this](const observe::HttpRequest& r) { return api_->route(r); }});
    log_notice(LogType::app, "metrics are at http://{0}/metrics and the page at http://{0}/",
               to_string(metrics_->address()));
}

}  // namespace spead::app
