// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/shards.hpp"
#include "runtime/plan.hpp"

namespace spead::config {

/// Limits the directories of a raw sink, each of which has a thread and 16 MiB.
inline constexpr std::size_t kMostDirectories = 64;

/// Checks `directories`. `where`: its where(). Throws UsageError.
void check_directories(const runtime::SinkPlan& sink, const std::string& where);

/// Checks what a stream's sink says of arrays, and what an array needs of its stream. `place` gives the
/// where() of a key of [receive.sink]. Throws UsageError.
void check_arrays(const runtime::ReceivePlan& stream,
                  const std::function<std::string(std::string_view key)>& place);

/// Gives a stream, whose endpoints are dealt, the column of the shard. The numbers along that axis begin with
/// the column's first place, unless they count the shard's own endpoints. Throws UsageError.
void deal_column(runtime::ReceivePlan& stream, Shard shard, const std::string& where);

}  // namespace spead::config
