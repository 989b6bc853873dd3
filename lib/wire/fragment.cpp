// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fragment.hpp"

#include "wire/net.hpp"

namespace spead::wire {
namespace {

constexpr std::size_t kFragmentHeader = 8;
/// Holds the unit of fragment offsets, of which all but the last fragment have a multiple.
constexpr std::uint32_t kUnit = 8;
constexpr std::uint16_t kIpv4MoreFragments = 0x2000;
constexpr std::uint16_t kIpv4Offset = 0x1FFF;
constexpr std::uint16_t kIpv6Offset = 0xFFF8;

/// Judges where the `length` bytes of payload are, and reads the ports. `most`: bytes of the largest payload.
bool place(const std::uint8_t* payload, std::uint32_t length, std::uint32_t begin, bool more,
           std::uint32_t most, FragmentView& out) noexcept {
    if (length == 0 || (more && length % kUnit != 0) || begin + length > most)
        return false;
    out.begin = begin;
    out.end = begin + length;
    out.more = more;
    if (begin == 0) {
        // More follow, so there are 8 bytes at least: all of the UDP header.
        out.src_port = load_be16(payload);
        out.dst_port = load_be16(payload + 2);
    }
    return true;
}

bool parse4(const std::uint8_t* frame, std::size_t length, std::size_t ip, FragmentView& out) noexcept {
    if (length < ip + kIpv4Header)
        return false;
    const std::uint8_t* const header = frame + ip;
    const std::size_t header_length = std::size_t{header[0] & 0x0FU} * 4;
    const std::size_t ip_length = load_be16(header + 2);
    if (header[0] >> 4 != 4 || header_length < kIpv4Header || ip_length < header_length ||
        ip_length > length - ip || header[9] != kProtocolUdp)
        return false;
    const std::uint16_t bits = load_be16(header + 6);
    const std::uint32_t begin = (bits & kIpv4Offset) * kUnit;
    const bool more = (bits & kIpv4MoreFragments) != 0;
    if (begin == 0 && !more)
        return false;
    out.source = load_be32(header + 12);
    out.destination = load_be32(header + 16);
    out.id = load_be16(header + 4);
    out.l2_length = static_cast<std::uint16_t>(ip);
    out.l3_length = static_cast<std::uint16_t>(header_length);
    out.ipv6 = false;
    return place(header + header_length, static_cast<std::uint32_t>(ip_length - header_length), begin, more,
                 static_cast<std::uint32_t>(kMaxIpPayload - header_length), out);
}

bool parse6(const std::uint8_t* frame, std::size_t length, std::size_t ip, FragmentView& out) noexcept {
    constexpr std::size_t headers = kIpv6Header + kFragmentHeader;
    if (length < ip + headers)
        return false;
    const std::uint8_t* const header = frame + ip;
    const std::size_t ip_length = load_be16(header + 4);
    if (header[0] >> 4 != 6 || header[6] != kNextFragment || ip_length < kFragmentHeader ||
        ip_length > length - ip - kIpv6Header)
        return false;
    const std::uint8_t* const fragment = header + kIpv6Header;
    const Ipv6 source = load_ipv6(header + 8);
    const std::uint16_t bits = load_be16(fragment + 2);
    const std::uint32_t begin = bits & kIpv6Offset;
    const bool more = (bits & 1) != 0;
    if (fragment[0] != kProtocolUdp || !is_source(source) || (begin == 0 && !more))
        return false;
    out.source = source;
    out.destination = load_ipv6(header + 24);
    out.id = load_be32(fragment + 4);
    out.l2_length = static_cast<std::uint16_t>(ip);
    out.l3_length = static_cast<std::uint16_t>(headers);
    out.ipv6 = true;
    return place(fragment + kFragmentHeader, static_cast<std::uint32_t>(ip_length - kFragmentHeader), begin,
                 more, kMaxIpPayload, out);
}

}  // namespace

bool parse_fragment(const std::uint8_t* frame, std::size_t length, FragmentView& out) noexcept {
    std::size_t ip = kEthernetHeader;
    if (length < ip)
        return false;
    std::uint16_t ether_type = load_be16(frame + ip - 2);
    for (std::size_t tags = 0;
         (ether_type == kEtherTypeVlan || ether_type == kEtherTypeQinQ) && tags < kMaxVlanTags; tags++) {
        ip += kVlanTag;
        if (length < ip)
            return false;
        ether_type = load_be16(frame + ip - 2);
    }
    if (ether_type == kEtherTypeIpv4)
        return parse4(frame, length, ip, out);
    return ether_type == kEtherTypeIpv6 && parse6(frame, length, ip, out);
}

}  // namespace spead::wire
