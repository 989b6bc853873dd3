// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/link.hpp"

/// Reads and builds ARP for IPv4 over Ethernet (RFC 826). Nothing here allocates or throws.
namespace spead::wire {

enum class ArpOperation : std::uint8_t { request = 1, reply = 2 };

inline constexpr std::size_t kArpPacket = 28;

struct ArpPacket {
    ArpOperation operation = ArpOperation::request;
    MacAddress sender_mac{};
    Ipv4 sender_ip;  ///< 0.0.0.0: a probe whether an address is taken (RFC 5227)
    MacAddress target_mac{};
    Ipv4 target_ip;

    bool operator==(const ArpPacket&) const = default;
};

/// Returns the ARP packet of a received frame on our VLAN. None if it is truncated, not IPv4 over Ethernet,
/// or neither request nor reply. None, too, for an impossible sender (group address, zero MAC address,
/// multicast or broadcast IP address).
std::optional<ArpPacket> parse_arp(std::span<const std::uint8_t> frame, const LinkAddress& own) noexcept;

/// Writes a frame from `from.mac` to `to` and returns its length, at least kLeastFrame; 0 when `out` is
/// shorter than that.
std::size_t build_arp(std::span<std::uint8_t> out, const MacAddress& to, const LinkAddress& from,
                      const ArpPacket& packet) noexcept;

}  // namespace spead::wire
