// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/key_fault.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Checks what else a stream of a declared format asks for. Returns the first fault. The format, and the
/// placement of the stream's chunks, can be parsed. Without a `format` there is none.
std::optional<KeyFault> format_fault(const runtime::ReceivePlan& receive);

}  // namespace spead::config
