// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string_view>

#include "stats/snapshot.hpp"

/// Describes by which ports and protocols a stream comes.
namespace spead::stats {

/// Returns the ports of the stream as one: their packets together, and without a link if all are. Its name is
/// "port p0", or "ports p0 and p1". None: no port is known.
std::optional<PortSnapshot> ports_of(const Snapshot& snapshot, const StreamSnapshot& s);

/// Returns the protocol by which the stream's groups are joined: "IGMP", "MLD" of IPv6, or "IGMP or MLD".
std::string_view membership_protocol(const StreamSnapshot& s);

}  // namespace spead::stats
