// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "recv/packet_filter.hpp"
#include "runtime/plan.hpp"

namespace spead::runtime {

/// Makes the filter of a plan; null: the plan has none. Throws UsageError for an invalid expression.
std::unique_ptr<recv::PacketFilter> make_filter(const ReceivePlan& plan);

}  // namespace spead::runtime
