// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "runtime/plan.hpp"

namespace spead::config {

/// Holds what is wrong with a sink, and the path of its key: "receive[0].sink.ring".
struct SinkFault {
    std::string path;
    std::string what;
};

/// Returns the first fault of the plan's sinks, as far as they need more than a directory; none: there is
/// none.
std::optional<SinkFault> sink_fault(const runtime::Plan& plan);

}  // namespace spead::config
