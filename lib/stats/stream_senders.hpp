// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the sources whose packets came to the stream, the busiest first, as far as the ports have noted
/// them.
std::vector<std::string> senders_to(const Snapshot& snapshot, const std::string& stream);
/// Returns "10.0.0.1", or the two busiest and the number of the others: "10.0.0.1, 10.0.0.2 and 3 more".
/// Empty: none is known by its address.
std::string named_senders(const Snapshot& snapshot, const std::string& stream);

}  // namespace spead::stats
