// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_options.hpp"

#include <fmt/core.h>

#include "app/option_set.hpp"
#include "config/keys.hpp"

namespace spead::app {

namespace {

void add_prompt_options(CLI::App& app, RunOptions& run) {
    OptionSet options(app);
    options.flag("-i,--interactive", run.interactive, "Open a prompt to inspect and change the run");
    options.text("--cmdline-file", run.cmdline_file, "FILE", "Run the commands of this file at the start");
    add_runtime_option(app, run.given, "control", "auto for run, else off");
}

}  // namespace

void RuntimeOptions::apply_to(runtime::RuntimePlan& plan) const {
    for (const std::string& name : names) {
        const config::Field& field = config::find_key("runtime", name)->field;
        field.set(&plan, field.get(&values), [](std::string_view) { return std::string(); });
    }
}

bool RunOptions::wants_control() const noexcept {
    const std::string& control = plan.runtime.control;
    return control.empty() ? by_configuration() : control != "off";
}

void add_runtime_option(CLI::App& app, RuntimeOptions& given, std::string_view name,
                        const std::string& default_text) {
    OptionSet(app).key(fmt::format("runtime.{}", name), &given.values,
                       {.default_text = default_text,
                        .then = [&given, name = std::string(name)] { given.names.insert(name); }});
}

void add_lcore_timeout(CLI::App& app, RuntimeOptions& given) {
    add_runtime_option(app, given, "lcore_timeout", "30s");
}

void add_run_options(CLI::App& app, RunOptions& options) {
    add_lcore_timeout(app, options.given);
    add_runtime_option(app, options.given, "metrics");
    add_runtime_option(app, options.given, "api_token_file");
    add_runtime_option(app, options.given, "capabilities");
    add_prompt_options(app, options);
}

void complete_run(RunOptions& options, CommonOptions& common) {
    runtime::RuntimePlan& plan = options.plan.runtime;
    if (!common.log_level.empty()) {
        options.given.values.log_level = common.log_level;
        options.given.names.insert("log_level");
    }
    options.given.apply_to(plan);
    common.log_level = plan.log_level;
    if (options.interactive || !options.cmdline_file.empty() ||
        (!plan.control.empty() && plan.control != "off"))
        plan.live = true;
}

}  // namespace spead::app
