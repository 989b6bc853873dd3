// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns why a stream's sink did not write `count` of its heaps or chunks, a finding for each reason; none:
/// it wrote all.
std::vector<Finding> unwritten_findings(const StreamSnapshot& s, std::uint64_t count, std::string_view unit,
                                        const Advice& advice);

}  // namespace spead::stats
