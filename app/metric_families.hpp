// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <prometheus/metric_family.h>
#include <vector>

#include "stats/snapshot_board.hpp"

namespace spead::app {

/// One view of the board as Prometheus has it: docs/telemetry.md lists the names, which hold the units. What
/// counts is a counter (`_total`) with the JSON report's number; rates that were worked out, levels and what
/// was configured are gauges. A part that is not in the snapshot has no series. Pure.
std::vector<prometheus::MetricFamily> metric_families(const stats::SnapshotBoard::View& view);

}  // namespace spead::app
