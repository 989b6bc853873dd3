// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/key_fault.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Checks the keys that depend on `pattern` and `repeat_items`. Returns the first fault. The endpoints are at
/// least one, and the values are in their ranges.
std::optional<KeyFault> pattern_fault(const runtime::SendPlan& send);

/// Refuses `p5`, a beam, with the reason. Throws UsageError for that name only.
void refuse_beam(std::string_view pattern, const std::string& where);

}  // namespace spead::config
