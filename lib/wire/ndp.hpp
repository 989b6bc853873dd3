// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/icmp6.hpp"

/// Reads and builds neighbour solicitations and advertisements over Ethernet (RFC 4861, RFC 2464): what ARP
/// is for IPv4. Nothing here allocates or throws.
namespace spead::wire {

enum class NdpType : std::uint8_t { solicitation = 135, advertisement = 136 };

inline constexpr std::size_t kNdpMessage = 24;  ///< without options
inline constexpr std::size_t kNdpMacOption = 8;
/// Holds the room for our frames.
inline constexpr std::size_t kNdpRoom =
    kEthernetHeader + kVlanTag + kIpv6Header + kNdpMessage + kNdpMacOption;

struct NdpPacket {
    NdpType type = NdpType::solicitation;
    Ipv6 from{}, to{};  ///< of the IPv6 header; from ::, a solicitation asks whether an address is taken
    Ipv6 target{};      ///< the address that is asked for, or advertised
    /// Holds the link-layer address option: of the source in a solicitation, of the target in an
    /// advertisement.
    std::optional<MacAddress> mac{};
    bool router = false;      ///< of an advertisement
    bool solicited = false;   ///< of an advertisement: it answers a solicitation from `to`
    bool replaces = false;    ///< of an advertisement: it overrides what is known
    MacAddress sender_mac{};  ///< of the Ethernet header

    bool operator==(const NdpPacket&) const = default;
};

/// Returns the packet of a received frame on our VLAN. None unless it is a solicitation or an advertisement
/// that is valid by RFC 4861 7.1: a hop limit of 255, a right checksum, a target that is no group, options
/// that are whole and not empty, flags and addresses that go together. None, too, for a sender or an option
/// with a MAC address that no host has.
std::optional<NdpPacket> parse_ndp(std::span<const std::uint8_t> frame, const LinkAddress& own) noexcept;

/// Writes a frame from `own.mac` to `to` and returns its length, at least kLeastFrame; 0 when `out` is
/// shorter than kNdpRoom. Ignores NdpPacket::sender_mac.
std::size_t build_ndp(std::span<std::uint8_t> out, const MacAddress& to, const LinkAddress& own,
                      const NdpPacket& packet) noexcept;

}  // namespace spead::wire
