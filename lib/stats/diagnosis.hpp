// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

/// Why packets or heaps were lost, told from the counters alone. Pure.
namespace spead::stats {

/// One finding for each cause at each place, by place and stage. A detailed snapshot tells more.
std::vector<Finding> diagnose(const Snapshot& snapshot);
/// The same of what happened between two snapshots of one run.
std::vector<Finding> diagnose(const Snapshot& now, const Snapshot& earlier);

/// Returns what was found by those who have watched the run (stats/finding_log.hpp), else diagnose().
std::vector<Finding> findings_of(const Snapshot& snapshot);

}  // namespace spead::stats
