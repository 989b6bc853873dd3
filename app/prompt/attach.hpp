// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/environment.hpp"

namespace spead::app {

/// Names the process that `attach` speaks with, and what it says.
struct AttachOptions {
    std::string target;                ///< a name or a path; empty: the only process there is
    std::vector<std::string> command;  ///< words after `--`; empty: what is typed
    bool operator==(const AttachOptions&) const = default;
};

/// `dpdk-spead attach`: this terminal, or commands, at another process's prompt. Returns the exit status of
/// the first command that was refused, or 0. The terminal is as before on every return, and before a signal
/// ends the process. Throws UsageError or Error when there is nobody to attach to.
int attach(const AttachOptions& options, const Environment& environment);

}  // namespace spead::app
