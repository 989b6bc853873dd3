// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::observe {

/// Adds the metrics of the paths of streams that have two; none if there is no such stream.
void add_path_families(std::vector<prometheus::MetricFamily>& out, const stats::Snapshot& now);

}  // namespace spead::observe
