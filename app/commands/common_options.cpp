// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "app/option_set.hpp"
#include "runtime/plan.hpp"

namespace spead::app {

void add_common_options(CLI::App& app, CommonOptions& common) {
    OptionSet options(app);
    options.text("--json", common.json_path, "FILE", "Write the final report as JSON; - = standard output");
    options.flag("--quiet", common.quiet, "Print no progress line and no table");
    options.flag("--check", common.check,
                 "Check the plan and its files, print it and EAL's options, and exit");
    const auto given = std::make_shared<runtime::RuntimePlan>();  // lives as long as the option
    const auto take = [&common, given] { common.log_level = given->log_level; };
    options.key("runtime.log_level", given.get(), {.default_text = "notice", .then = take});
}

void add_port_arguments(CLI::App& app, std::vector<std::string>& ports, const std::string& description) {
    app.add_option("PORT", ports, description)->type_name("");
}

}  // namespace spead::app
