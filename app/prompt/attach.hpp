// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.hpp"

namespace spead::app {

/// `dpdk-spead attach`: this terminal, or commands, at another process's prompt. Returns the exit status of
/// the first command that was refused, or 0. The terminal is as before on every return, and before a signal
/// ends the process. Throws UsageError or Error when there is nobody to attach to.
int attach(const AttachOptions& options, const Environment& environment);

}  // namespace spead::app
