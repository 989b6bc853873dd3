// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the findings of a port in receiving: its own losses, and packets that nobody wants.
std::vector<Finding> port_findings(const PortSnapshot& p, const Advice& advice);

}  // namespace spead::stats
