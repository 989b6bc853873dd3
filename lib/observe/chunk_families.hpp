// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::observe {

/// Adds the metrics of streams with chunks.
void add_chunk_families(std::vector<prometheus::MetricFamily>& out, const stats::Snapshot& now);

}  // namespace spead::observe
