// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <vector>

#include "observe/rising_counts.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// Converts a snapshot to Prometheus's families: docs/telemetry.md lists the names, which hold the units.
/// Counts are counters (`_total`) with the JSON report's number. Computed rates, levels and configured values
/// are gauges. A part that is not in the snapshot has no series. `rising` holds the counts of earlier pages
/// that may decrease; the view's counts are noted there.
std::vector<prometheus::MetricFamily> metric_families(const stats::LatestSnapshot::View& view,
                                                      RisingCounts& rising);

}  // namespace spead::observe
