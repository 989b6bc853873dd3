// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "recv/packet_filter.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// The filter that a plan asks for, or null. Throws UsageError for an expression that is none.
std::unique_ptr<recv::PacketFilter> make_filter(const ReceivePlan& plan);

}  // namespace spead::runtime
