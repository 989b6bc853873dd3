// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the findings about the IP fragments of a port.
std::vector<Finding> fragment_findings(const PortSnapshot& p, const Advice& advice);

}  // namespace spead::stats
