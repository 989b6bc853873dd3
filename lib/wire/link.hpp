// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "wire/net.hpp"

/// Reads and writes the Ethernet header of the frames that keep a host reachable (IGMP, ARP,
/// MLD, NDP). Nothing here
/// allocates or throws.
namespace spead::wire {

/// Holds the length to which short frames are padded with zeros (IEEE 802.3 without FCS); not every device
/// pads.
inline constexpr std::size_t kLeastFrame = 60;

inline constexpr MacAddress kBroadcastMac{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

/// Holds our addresses on a link.
struct LinkAddress {
    MacAddress mac{};
    Ipv4 ip;                            ///< 0.0.0.0: none
    std::optional<std::uint16_t> vlan;  ///< TCI of the tag of our frames; only its VLAN's frames are ours
    Ipv6 link_local{};                  ///< our address of IPv6 on the link (fe80::/10); ::: none
    Ipv6 ip6{};                         ///< another one of ours; ::: none

    bool operator==(const LinkAddress&) const = default;
};

/// Returns the bytes after the ethertype of a frame on our VLAN: untagged (or with a mere priority tag, VLAN
/// 0), or with one tag of `own.vlan`. Empty when the frame is short, of another ethertype or another VLAN.
inline std::span<const std::uint8_t> payload_of(std::span<const std::uint8_t> frame, std::uint16_t ether_type,
                                                const LinkAddress& own) noexcept {
    if (frame.size() < kEthernetHeader)
        return {};
    std::size_t at = kEthernetHeader;
    std::uint16_t vlan = 0;
    if (load_be16(&frame[12]) == kEtherTypeVlan) {
        at += kVlanTag;
        if (frame.size() < at)
            return {};
        vlan = load_be16(&frame[14]) & 0x0FFF;
    }
    if (load_be16(&frame[at - 2]) != ether_type || vlan != (own.vlan.value_or(0) & 0x0FFF))
        return {};
    return frame.subspan(at);
}

/// Writes the Ethernet header, with a tag if `from` has one, and returns its length. `out` has room for 18
/// bytes.
inline std::size_t write_link(std::uint8_t* out, const MacAddress& to, const LinkAddress& from,
                              std::uint16_t ether_type) noexcept {
    std::memcpy(out, to.data(), to.size());
    std::memcpy(out + 6, from.mac.data(), from.mac.size());
    std::size_t at = 12;
    if (from.vlan) {
        store_be16(out + at, kEtherTypeVlan);
        store_be16(out + at + 2, *from.vlan);
        at += kVlanTag;
    }
    store_be16(out + at, ether_type);
    return at + 2;
}

/// Pads a frame of `length` bytes; returns its length. `out` has room for kLeastFrame bytes.
inline std::size_t pad_frame(std::uint8_t* out, std::size_t length) noexcept {
    if (length >= kLeastFrame)
        return length;
    std::memset(out + length, 0, kLeastFrame - length);
    return kLeastFrame;
}

}  // namespace spead::wire
