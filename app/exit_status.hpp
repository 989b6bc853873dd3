// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace spead::app {

/// Lists the exit statuses of the program.
enum ExitStatus : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

}  // namespace spead::app
