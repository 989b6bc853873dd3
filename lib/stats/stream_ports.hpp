// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.hpp"
#include "stats/snapshot.hpp"

/// Describes by which ports and protocols a stream comes.
namespace spead::stats {

/// Returns what all ports have received.
std::vector<PortPackets> packets_of_ports(const Snapshot& snapshot);

/// Returns the port with the packets that came since the stream was changed: its own counts may begin at
/// another time.
PortSnapshot since_change(const PortSnapshot& port, const StreamSnapshot& s);

/// Returns the ports of the stream as one: their packets together since it was changed, and those left to the
/// kernel, most first.
/// It has no link if any of them has none, and no interface if they have different ones. Its name is "port
/// p0", or "ports p0 and p1". None: no port is known.
std::optional<PortSnapshot> ports_of(const Snapshot& snapshot, const StreamSnapshot& s);

/// Returns the ports of the stream that have no link, each once.
std::vector<const PortSnapshot*> ports_without_link(const Snapshot& snapshot, const StreamSnapshot& s);

/// Returns the endpoints that a text means; none: it is not one.
std::vector<Endpoint> meant_by(const std::string& text);

/// Returns whether the stream may have a group among its endpoints. It has none if all of them are known and
/// of hosts.
bool may_have_groups(const StreamSnapshot& s);

/// Returns whether a port of the stream joins groups for it.
bool joins_groups(const Snapshot& snapshot, const StreamSnapshot& s);

/// Returns the protocol by which the stream's groups are joined: "IGMP", "MLD" of IPv6, or "IGMP or MLD".
std::string_view membership_protocol(const StreamSnapshot& s);

}  // namespace spead::stats
