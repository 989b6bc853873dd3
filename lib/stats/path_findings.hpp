// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the findings that only a stream with two paths can have; none for others. `seconds`: how long it
/// has been received.
std::vector<Finding> path_findings(const StreamSnapshot& s, double seconds, const Advice& advice);
/// Returns the end of a sentence about late packets that names the path of most of them; empty: there is
/// none. `parts`: what may be open, "heaps" or "chunks".
std::string late_path(const StreamSnapshot& s, std::string_view parts);

}  // namespace spead::stats
