// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_options.hpp"

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"

namespace spead::app {

namespace {

void add_metrics_option(CLI::App& app, std::optional<ListenAddress>& metrics) {
    OptionSet(app).add(
        "--metrics", "[ADDRESS:]PORT", "", "Where Prometheus may fetch metrics; without ADDRESS on 127.0.0.1",
        [&metrics](const std::string& text) { metrics = parse_listen_address(text, "--metrics"); });
}

void add_prompt_options(CLI::App& app, RunOptions& run) {
    OptionSet options(app);
    options.flag("-i,--interactive", run.interactive, "A prompt to look and to change things while it runs");
    options.text("--cmdline-file", run.cmdline_file, "FILE", "Carry out this file's commands at the start");
    options.add("--control", "auto|PATH|off", "auto for run, else off",
                "Socket for dpdk-spead attach; auto = by [runtime] name", [&run](const std::string& text) {
                    if (text.empty())
                        throw_usage("--control", "it is empty; give auto, off or a path");
                    run.given.control = text;
                });
}

}  // namespace

void RuntimeOptions::apply_to(runtime::RuntimePlan& plan) const {
    if (!control.empty())
        plan.control = control;
    if (metrics)
        plan.metrics = metrics;
    if (capabilities)
        plan.capabilities = *capabilities;
    if (lcore_timeout)
        plan.lcore_timeout = lcore_timeout;
}

bool RunOptions::wants_control() const noexcept {
    const std::string& control = plan.runtime.control;
    return control.empty() ? by_configuration() : control != "off";
}

void add_lcore_timeout(CLI::App& app, std::optional<double>& lcore_timeout) {
    OptionSet(app).add("--lcore-timeout", "TIME|off", "30s",
                       "End the run when an lcore has not answered for so long; off = never",
                       [&lcore_timeout](const std::string& text) {
                           const double time = text == "off" ? 0 : parse_duration(text, "--lcore-timeout");
                           if (text != "off" && !config::kLcoreTimeout.hold(time))
                               throw_usage("--lcore-timeout", "`{}` is out of range; give 1s or more, or off",
                                           text);
                           lcore_timeout = time;
                       });
}

void add_capabilities_option(CLI::App& app, std::optional<runtime::KeptCapabilities>& capabilities) {
    OptionSet(app).add("--capabilities", "needed|all", "needed",
                       "What to keep of root's power after the start; needed = by the ports",
                       [&capabilities](const std::string& text) {
                           capabilities = config::choose(config::kKeptCapabilities, text, "--capabilities");
                       });
}

void add_run_options(CLI::App& app, RunOptions& options) {
    add_lcore_timeout(app, options.given.lcore_timeout);
    add_metrics_option(app, options.given.metrics);
    add_capabilities_option(app, options.given.capabilities);
    add_prompt_options(app, options);
}

void complete_run(RunOptions& options, CommonOptions& common) {
    runtime::RuntimePlan& plan = options.plan.runtime;
    if (!common.log_level.empty())
        plan.log_level = common.log_level;
    common.log_level = plan.log_level;
    options.given.apply_to(plan);
    if (options.interactive || !options.cmdline_file.empty() ||
        (!plan.control.empty() && plan.control != "off"))
        plan.live = true;
}

}  // namespace spead::app
