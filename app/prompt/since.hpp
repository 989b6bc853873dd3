// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/snapshot.hpp"

namespace spead::app {

/// What has been counted since an earlier snapshot: counts and the duration are differences, what is a state
/// (live and queued heaps, rules) is as it is now. What is not in `before`, or has begun anew since, counts
/// whole.
stats::Snapshot since(stats::Snapshot now, const stats::Snapshot& before);

}  // namespace spead::app
