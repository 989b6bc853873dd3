// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/environment.hpp"

namespace spead::app {

/// Names the process that `attach` connects to, and the commands for it.
struct AttachOptions {
    std::string target;                ///< a name or a path; empty: the only process there is
    std::vector<std::string> command;  ///< words after `--`; empty: typed commands
    bool operator==(const AttachOptions&) const = default;
};

/// Runs `dpdk-spead attach`: this terminal, or commands, at another process's prompt. Returns the exit status
/// of the first refused command, or 0. Restores the terminal on every return, and before a signal ends the
/// process. Throws UsageError or Error when there is no process to attach to.
int attach(const AttachOptions& options, const Environment& environment);

}  // namespace spead::app
