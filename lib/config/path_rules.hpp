// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string>

#include "config/config.hpp"
#include "config/key_fault.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Checks what a stream says of its two paths, and asks for besides. Returns the first fault. A stream with
/// one path has one if it has keys of two.
std::optional<KeyFault> path_fault(const runtime::Plan& plan, const runtime::ReceivePlan& receive);

/// Checks that a packet can belong to one stream only. Throws UsageError, which names a stream that has the
/// endpoint: one that is not `asking`, if there is one.
void check_endpoints_once(const runtime::Plan& plan, const Locator& locate,
                          std::span<const std::string> asking = {});

}  // namespace spead::config
