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

/// Where datagrams are sent instead, and on which way.
struct NewDestination {
    Ipv4 address;
    std::uint16_t port = 0;
    MacAddress mac{};  ///< of the host, or of the router towards it; of a group: its own
};

/// What is changed in the frames of a capture before they are sent again.
struct RewriteRules {
    std::optional<NewDestination> to;  ///< of every datagram that `map` does not name
    std::map<std::pair<std::uint32_t, std::uint16_t>, NewDestination> map;  ///< by old address and port
    std::optional<std::uint8_t> ttl;
    std::optional<MacAddress> source_mac;
    std::optional<Ipv4> source;
    bool strip_vlan = false;

    /// Any rule that needs to find the datagram in the frame.
    bool readdresses() const noexcept { return to || !map.empty() || ttl || source; }
};

/// A frame that was looked at.
struct Rewritten {
    bool good = true;        ///< false: a rule needs a UDP datagram, and there is none that can be read
    std::uint32_t skip = 0;  ///< bytes that the frame now begins later: tags that were taken away
    const NewDestination* mapped = nullptr;  ///< the entry of `map` that it went by; null: none
};

/// Changes a frame in place; it may be anything. Checksums of IPv4 and UDP are brought up to date by the
/// difference (RFC 1624): right ones stay right, wrong ones wrong, and a UDP checksum of 0 (none) stays 0.
Rewritten rewrite(std::span<std::uint8_t> frame, const RewriteRules& rules) noexcept;

}  // namespace spead::replay
