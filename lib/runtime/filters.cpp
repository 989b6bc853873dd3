// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/filters.hpp"

#include "recv/filter_expression.hpp"

namespace spead::runtime {

std::unique_ptr<recv::PacketFilter> make_filter(const ReceivePlan& plan) {
    if (plan.filter.empty())
        return nullptr;
    return std::make_unique<recv::ExpressionFilter>(
        recv::FilterExpression::parse(plan.filter, "receive " + plan.name));
}

}  // namespace spead::runtime
