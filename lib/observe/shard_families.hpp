// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::observe {

/// Returns the metrics by which the shards of a plan find together: `spead_shard_info`,
/// `spead_plan_endpoints` and `spead_stream_shared`. `plan` is the name in [runtime], the same in every
/// shard. Pure.
std::vector<prometheus::MetricFamily> shard_families(const std::string& plan, const stats::Snapshot& now);

}  // namespace spead::observe
