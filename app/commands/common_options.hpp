// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/commands/command.hpp"

namespace spead::app {

/// Adds --json, --quiet, --check and --log-level.
void add_common_options(CLI::App& app, CommonOptions& common);

/// Adds ports as arguments, for commands that inspect ports.
void add_port_arguments(CLI::App& app, std::vector<std::string>& ports, const std::string& description);

}  // namespace spead::app
