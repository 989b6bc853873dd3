// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/top/top.hpp"

namespace spead::app {

/// Runs `top --fleet`: shows the processes of all targets until `q` or a signal. Starts no EAL. With `once`,
/// it prints one picture, and returns kFailure if a process does not answer or has a fault, or if a part of
/// the plan is missing. Returns an exit status; throws UsageError and Error.
int fleet_top(const std::string& targets, const TopOptions& options);

}  // namespace spead::app
