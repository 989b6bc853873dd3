// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "config/key_fault.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Checks what a stream whose payload an engine moves asks for besides. Returns the first fault. `kernel`:
/// its packets come through kernel sockets. Without an engine there is none.
std::optional<KeyFault> engine_fault(const runtime::ReceivePlan& receive, bool kernel);

}  // namespace spead::config
