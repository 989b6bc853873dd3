// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/link.hpp"

/// Reads and writes the headers that MLD and NDP messages share: Ethernet, IPv6, hop-by-hop options with the
/// router alert, and the checksum.
///
/// Views refer to the frame they were made from. Nothing here allocates or throws. Sources: RFC 8200 (IPv6),
/// RFC 4443 (ICMPv6), RFC 2711 (router alert).
namespace spead::wire {

/// Holds the length of the hop-by-hop options that carry the router alert.
inline constexpr std::size_t kAlertOptions = 8;
/// Holds the length of the part that all messages have: type, code and checksum.
inline constexpr std::size_t kIcmp6Message = 4;

inline constexpr Ipv6 kAllNodes{0xFF02'0000'0000'0000, 1};     ///< ff02::1
inline constexpr Ipv6 kAllRouters6{0xFF02'0000'0000'0000, 2};  ///< ff02::2

/// Returns the group of the hosts whose addresses end in the same 24 bits (RFC 4291 2.7.1).
constexpr Ipv6 solicited_node(const Ipv6& address) noexcept {
    return {0xFF02'0000'0000'0000, 0x0000'0001'FF00'0000 | (address.low & 0xFF'FFFF)};
}

constexpr bool is_unspecified(const Ipv6& address) noexcept {
    return (address.high | address.low) == 0;
}
constexpr bool is_link_local_unicast(const Ipv6& address) noexcept {
    return address.high >> 54 == 0xFE80 >> 6;
}

enum class Icmp6Refusal : std::uint8_t {
    none,
    not_icmp6,  ///< not ICMPv6 on our VLAN; also in a fragment, or behind another extension header
    malformed,  ///< lengths that contradict each other
    bad_checksum,
};

/// Describes a message whose lengths and checksum are right.
struct Icmp6View {
    Ipv6 from, to;                          ///< of the IPv6 header
    std::uint8_t hop_limit = 0;             ///< of the IPv6 header
    bool alert = false;                     ///< has the router alert of MLD
    std::span<const std::uint8_t> message;  ///< at least kIcmp6Message bytes
};

/// Finds the ICMPv6 message of a received frame. Fills `out` if nothing is refused; else `out` is
/// unspecified. Passes over the same options as parse_udp.
Icmp6Refusal parse_icmp6(std::span<const std::uint8_t> frame, const LinkAddress& own,
                         Icmp6View& out) noexcept;

/// Says how a message of ours is sent.
struct Icmp6Headers {
    MacAddress to_mac{};
    Ipv6 from, to;
    std::uint8_t hop_limit = 255;
    bool alert = false;
};

/// Returns where the message begins in our frames.
constexpr std::size_t icmp6_message_at(const LinkAddress& own, bool alert) noexcept {
    return kEthernetHeader + (own.vlan ? kVlanTag : 0) + kIpv6Header + (alert ? kAlertOptions : 0);
}

/// Writes the headers of a message of `length` bytes that is in its place, its checksum, and padding; returns
/// the frame's length. `out` has room for kLeastFrame bytes.
std::size_t complete_icmp6(std::uint8_t* out, const LinkAddress& own, const Icmp6Headers& headers,
                           std::size_t length) noexcept;

}  // namespace spead::wire
