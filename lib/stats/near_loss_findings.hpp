// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"

namespace spead::stats {

/// Finds what came close to a loss (stats/near_losses.hpp).
std::vector<Finding> near_loss_findings(const StreamSnapshot& s, const Advice& advice);
std::vector<Finding> near_loss_findings(const LcoreSnapshot& l, const Advice& advice);

/// Returns the actions that keep an lcore on its CPU. `longest_s`: for how long it was off. `port`: one that
/// it polls.
Cures keep_on_cpu(const LcoreSnapshot* lcore, const PortSnapshot& port, double longest_s,
                  const Advice& advice);
/// Holds the seconds of absence that other work on the CPU does not explain.
inline constexpr double kStopped = 0.5;
/// Returns a time off the CPU: "4 ms", "3.0 s".
std::string time_off(double seconds);

}  // namespace spead::stats
