// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "config/key_fault.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Checks a port that cuts packets into headers and data, and its streams: nothing of them may read data on
/// the CPU. Returns the first fault of the port's table; its key is `split`, or what does not go with it.
std::optional<KeyFault> split_fault(const runtime::Plan& plan, const runtime::PortPlan& port);

}  // namespace spead::config
