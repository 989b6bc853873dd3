// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"

#include <CLI/CLI.hpp>

#include "app/option_set.hpp"
#include "base/log.hpp"

namespace spead::app {

void add_common_options(CLI::App& app, CommonOptions& common) {
    OptionSet options(app);
    options.text("--json", common.json_path, "FILE", "Write the final report as JSON; - = standard output");
    options.flag("--quiet", common.quiet, "No progress line and no table");
    options.flag("--check", common.check, "Check everything, print the plan and EAL's options, and exit");
    options.add("--log-level", "LEVEL", "notice", "error, warning, notice, info, debug, or PATTERN:LEVEL",
                [&common](const std::string& text) {
                    check_log_level(text, "--log-level");
                    common.log_level = text;
                });
}

void add_port_arguments(CLI::App& app, std::vector<std::string>& ports, const std::string& description) {
    app.add_option("PORT", ports, description)->type_name("");
}

}  // namespace spead::app
