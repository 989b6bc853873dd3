// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "recv/packet_filter.hpp"
#include "runtime/plan.hpp"
#include "spead/filter.hpp"
#include "spead/recv.hpp"

/// Converts the configuration of a stream to its plan. Control code.
namespace spead::door {

/// Returns the plan of a stream, for a user (SinkKind::user). Throws UsageError.
runtime::ReceivePlan plan_of(const RecvConfig& config);

/// Adds the endpoints of the text. Throws UsageError for one that the plan has.
void add_endpoint_to(runtime::ReceivePlan& plan, const std::string& text);

/// Adds the endpoints of the text, and their twins on the second path; empty: the same on both paths. Throws
/// UsageError.
void add_endpoint_to(runtime::ReceivePlan& plan, const std::string& text, const std::string& twin);

/// Removes the endpoints of the text, with their twins on the second path. Throws UsageError for one that the
/// plan lacks, and for its last one.
void remove_endpoint_from(runtime::ReceivePlan& plan, const std::string& text);

/// Adapts the filter that `make` makes. Throws Error when it makes none; what it throws passes.
std::unique_ptr<recv::PacketFilter> make_user_filter(
    const std::string& stream, const std::function<std::unique_ptr<PacketFilter>()>& make);

}  // namespace spead::door
