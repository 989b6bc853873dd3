// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

/// Diagnoses why packets or heaps were lost, from the counters alone. Pure.
namespace spead::stats {

/// Returns one finding for each cause at each place, by place and stage. A detailed snapshot gives more.
std::vector<Finding> diagnose(const Snapshot& snapshot);
/// Returns the same for the time between two snapshots of one run.
std::vector<Finding> diagnose(const Snapshot& now, const Snapshot& earlier);

/// Returns the findings of the log that followed the run (stats/finding_log.hpp), else diagnose().
std::vector<Finding> findings_of(const Snapshot& snapshot);

}  // namespace spead::stats
