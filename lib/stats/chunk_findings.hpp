// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns how many heaps of a stream's chunks may be missing because its packets were lost or refused here:
/// such a packet leaves at most one heap incomplete.
std::uint64_t lost_packets_of_chunks(const StreamSnapshot& s);
/// Returns the findings that only a stream with chunks can have. `missed`: packets that its ports lost, and
/// packets that other streams lost of the same chunks.
std::vector<Finding> chunk_findings(const StreamSnapshot& s, std::uint64_t missed, const Advice& advice);
/// Returns ", most of them from 10.0.0.7 and 10.0.0.9", for so many packets; empty: no source is known.
std::string sources_text(const Snapshot& snapshot, const FewSources& sources, std::uint64_t packets);
/// Returns whether a place of an axis of the stream's chunks has never come, although several chunks were
/// taken.
bool lacks_place(const StreamSnapshot& s);
/// Returns the ranges of places of an axis whose present part `is_wanted` likes: "1, 3 and 17-20". Beyond a
/// few, their number.
std::string places_text(const AxisPresence& axis, const std::function<bool(std::size_t)>& is_wanted);

}  // namespace spead::stats
