// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns whether the stream is received, and without a packet so far.
bool waits_for_packets(const StreamSnapshot& s);
/// Returns why nothing came at all; none: something did, or may still come.
std::optional<Finding> nothing_came_finding(const StreamSnapshot& s, const Advice& advice);

}  // namespace spead::stats
