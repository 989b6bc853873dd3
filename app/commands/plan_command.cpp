// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/plan_command.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/common_options.hpp"
#include "app/run/run_plan.hpp"

namespace spead::app {

void PlanCommand::declare(CLI::App& app, CommonOptions& common) {
    add_plan_options(app);
    add_common_options(app, common);
    add_options_of_run(app);
    for (const CLI::Option* const option : app.get_options())
        for (const std::string& name : option->get_lnames())
            options_.command_options.push_back("--" + name);
}

void PlanCommand::complete(Invocation& invocation, const DefaultPort& default_port) {
    options_.plan = make_plan(default_port);
    complete_run(options_, invocation.common);
    invocation.remarks.insert(invocation.remarks.end(), options_.remarks.begin(), options_.remarks.end());
}

int PlanCommand::run(const Invocation& invocation) {
    return run_plan(options_, invocation);
}

void PlanCommand::add_options_of_run(CLI::App& app) {
    add_run_options(app, options_);
}

}  // namespace spead::app
