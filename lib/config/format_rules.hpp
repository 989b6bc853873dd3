// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/plan.hpp"

namespace spead::config {

/// Holds a rule that a [[receive]] with a `format` breaks.
struct FormatFault {
    std::string_view key;  ///< of [[receive]]
    std::string what;      ///< the fault and the fix
};

/// Checks what else a stream of a declared format asks for. Returns the first fault. The format, and the
/// placement of the stream's chunks, can be parsed. Without a `format` there is none.
std::optional<FormatFault> format_fault(const runtime::ReceivePlan& receive);

}  // namespace spead::config
