// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <vector>

#include "observe/rising_counts.hpp"
#include "stats/latest_snapshot.hpp"

namespace spead::observe {

/// One view of the latest snapshot as Prometheus has it: docs/telemetry.md lists the names, which hold the
/// units. What counts is a counter (`_total`) with the JSON report's number; rates that were worked out,
/// levels and what was configured are gauges. A part that is not in the snapshot has no series. `rising`
/// holds what the pages before this one said of counts that may fall; the view's is noted there.
std::vector<prometheus::MetricFamily> metric_families(const stats::LatestSnapshot::View& view,
                                                      RisingCounts& rising);

}  // namespace spead::observe
