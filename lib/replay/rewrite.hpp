// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"

namespace spead::replay {

/// Holds the new destination of datagrams, and the next hop.
struct NewDestination {
    IpAddress address;
    std::uint16_t port = 0;
    MacAddress mac{};  ///< of the host, or of the router towards it; for a group: its own
};

/// Holds the changes in the frames of a capture before they are sent again.
struct RewriteRules {
    std::optional<NewDestination> to;  ///< of every datagram that `map` does not name
    /// Holds the others, by old address and port; both of one IP version.
    std::map<std::pair<IpAddress, std::uint16_t>, NewDestination> map;
    std::optional<std::uint8_t> ttl;  ///< of IPv6 the hop limit
    std::optional<MacAddress> source_mac;
    std::optional<Ipv4> source;   ///< of IPv4 datagrams
    std::optional<Ipv6> source6;  ///< of IPv6 datagrams
    bool strip_vlan = false;

    /// Returns whether a rule needs to find the datagram in the frame.
    bool readdresses() const noexcept { return to || !map.empty() || ttl || source || source6; }
};

/// Holds the result of a rewrite.
struct Rewritten {
    /// Is false if a rule needs a UDP datagram, and there is no readable one, or it is of another IP version
    /// than its new destination.
    bool good = true;
    std::uint32_t skip = 0;  ///< bytes by which the frame now begins later, because tags were removed
    const NewDestination* mapped = nullptr;  ///< the applied entry of `map`; null: none
};

/// Changes a frame in place; it may be anything. Headers of one IP version never become those of the other.
/// Checksums of IPv4 and UDP are updated by the difference (RFC 1624): right ones stay right, wrong ones
/// wrong, and a UDP checksum of 0 (none) stays 0.
Rewritten rewrite(std::span<std::uint8_t> frame, const RewriteRules& rules) noexcept;

}  // namespace spead::replay
