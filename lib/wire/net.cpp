// SPDX-License-Identifier: BSD-3-Clause
#include "wire/net.hpp"

#include "wire/fragment.hpp"

namespace spead::wire {
namespace {

// Next headers (RFC 8200 4).
constexpr std::uint8_t kNextHopByHop = 0;
constexpr std::uint8_t kNextDestinationOptions = 60;

std::uint32_t fold(std::uint64_t sum) noexcept {
    while ((sum >> 16) != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint32_t>(sum);
}

/// Returns the sum of the big-endian 16-bit words of `data`, an odd last byte padded with 0; at most 2^32
/// bytes.
std::uint64_t sum_words(const std::uint8_t* data, std::size_t length) noexcept {
    std::uint64_t sum = 0;
    std::size_t i = 0;
    for (; i + 4 <= length; i += 4)
        sum += load_be32(data + i);
    if (i + 2 <= length) {
        sum += load_be16(data + i);
        i += 2;
    }
    if (i < length)
        sum += static_cast<std::uint64_t>(data[i]) << 8;
    return sum;
}

/// Fills in what the UDP header at `udp` says, of an IP payload of `room` bytes.
PortOutcome view_datagram(const std::uint8_t* head, std::size_t readable, std::size_t udp, std::size_t room,
                          UdpView& out) noexcept {
    if (readable < udp + kUdpHeader)
        return PortOutcome::malformed;
    const std::size_t udp_length = load_be16(head + udp + 4);
    if (udp_length < kUdpHeader || udp_length > room)
        return PortOutcome::malformed;
    out.src_port = load_be16(head + udp);
    out.dst_port = load_be16(head + udp + 2);
    out.payload_offset = static_cast<std::uint32_t>(udp + kUdpHeader);
    out.payload_length = static_cast<std::uint32_t>(udp_length - kUdpHeader);
    return PortOutcome::stream;
}

/// Returns the outcome of an ICMPv6 message (RFC 4443) by its type: MLD is 130 to 132 and 143, NDP 133 to
/// 137.
PortOutcome icmp6_outcome(std::uint8_t type) noexcept {
    if ((type >= 130 && type <= 132) || type == 143)
        return PortOutcome::mld;
    return type >= 133 && type <= 137 ? PortOutcome::ndp : PortOutcome::not_udp;
}

/// Parses an IPv6 packet at `ip`. Jumbograms (RFC 2675) have payload length 0, and no room for UDP.
PortOutcome parse_udp6(const std::uint8_t* head, std::size_t readable, std::size_t frame_length,
                       std::size_t ip, std::uint8_t tags, UdpView& out) noexcept {
    if (readable < ip + kIpv6Header)
        return PortOutcome::malformed;
    const std::uint8_t* const header = head + ip;
    std::size_t room = load_be16(header + 4);
    if (header[0] >> 4 != 6 || room > frame_length - ip - kIpv6Header)
        return PortOutcome::malformed;
    std::uint8_t next = header[6];
    std::size_t at = ip + kIpv6Header;
    const std::size_t end = at + kMaxIpv6Options;
    while (next == kNextHopByHop || next == kNextDestinationOptions) {
        if (next == kNextHopByHop && at != ip + kIpv6Header)
            return PortOutcome::malformed;
        if (room < 8)
            return PortOutcome::malformed;
        if (at + 8 > end)
            return PortOutcome::not_udp;
        if (readable < at + 8)
            return PortOutcome::malformed;
        const std::size_t length = (std::size_t{head[at + 1]} + 1) * 8;
        if (length > room)
            return PortOutcome::malformed;
        if (at + length > end)
            return PortOutcome::not_udp;
        next = head[at];
        at += length;
        room -= length;
    }
    if (next == kNextFragment)
        return PortOutcome::fragment;
    if (next == kProtocolIcmp6)
        return room == 0 || readable <= at ? PortOutcome::malformed : icmp6_outcome(head[at]);
    if (next != kProtocolUdp)
        return PortOutcome::not_udp;
    out.src_ip6 = load_ipv6(header + 8);
    if (!is_source(out.src_ip6))
        return PortOutcome::malformed;
    out.dst_ip6 = load_ipv6(header + 24);
    out.src_ip = sender_key(out.src_ip6);
    out.dst_ip = 0;
    out.vlan_tags = tags;
    out.ipv6 = true;
    const PortOutcome outcome = view_datagram(head, readable, at, room, out);
    if (outcome == PortOutcome::stream && load_be16(head + at + 6) == 0)
        return PortOutcome::bad_checksum;
    return outcome;
}

}  // namespace

PortOutcome parse_udp_general(const std::uint8_t* head, std::size_t head_length, std::size_t frame_length,
                              bool verify_ip_checksum, UdpView& out) noexcept {
    const std::size_t readable = std::min(head_length, frame_length);
    if (readable < kEthernetHeader)
        return PortOutcome::malformed;
    std::size_t ip = kEthernetHeader;
    std::uint16_t ether_type = load_be16(head + ip - 2);
    std::uint8_t tags = 0;
    while ((ether_type == kEtherTypeVlan || ether_type == kEtherTypeQinQ) && tags < kMaxVlanTags) {
        ip += kVlanTag;
        if (readable < ip)
            return PortOutcome::malformed;
        ether_type = load_be16(head + ip - 2);
        ++tags;
    }
    if (ether_type == kEtherTypeIpv6)
        return parse_udp6(head, readable, frame_length, ip, tags, out);
    if (ether_type != kEtherTypeIpv4)
        return ether_type == kEtherTypeArp ? PortOutcome::arp : PortOutcome::not_udp;

    if (readable < ip + kIpv4Header)
        return PortOutcome::malformed;
    const std::uint8_t* const header = head + ip;
    const std::size_t header_length = static_cast<std::size_t>(header[0] & 0x0F) * 4;
    const std::size_t ip_length = load_be16(header + 2);
    if ((header[0] >> 4) != 4 || header_length < kIpv4Header || ip_length < header_length ||
        ip_length > frame_length - ip || readable < ip + header_length)
        return PortOutcome::malformed;
    if (verify_ip_checksum && ipv4_checksum(header, header_length) != 0)
        return PortOutcome::bad_checksum;
    if ((load_be16(header + 6) & kIpv4FragmentMask) != 0)
        return PortOutcome::fragment;
    const std::uint8_t protocol = header[9];
    if (protocol != kProtocolUdp)
        return protocol == kProtocolIgmp ? PortOutcome::igmp : PortOutcome::not_udp;

    out.src_ip = load_be32(header + 12);
    out.dst_ip = load_be32(header + 16);
    out.vlan_tags = tags;
    out.ipv6 = false;
    return view_datagram(head, readable, ip + header_length, ip_length - header_length, out);
}

std::uint16_t ipv4_checksum(const void* header, std::size_t length) noexcept {
    return static_cast<std::uint16_t>(~fold(sum_words(static_cast<const std::uint8_t*>(header), length)));
}

std::uint16_t udp_checksum(const IpAddress& src_ip, const IpAddress& dst_ip, std::uint16_t src_port,
                           std::uint16_t dst_port,
                           std::span<const std::span<const std::uint8_t>> payload) noexcept {
    std::uint64_t sum = 0;
    std::size_t position = 0;
    for (const auto piece : payload) {
        // Swapping the bytes of every word swaps the bytes of the sum (RFC 1071 2(B)): a piece at an odd
        // position.
        const std::uint32_t part = fold(sum_words(piece.data(), piece.size()));
        sum += (position & 1) != 0 ? byte_swap(static_cast<std::uint16_t>(part)) : part;
        position += piece.size();
    }
    const std::uint64_t udp_length = position + kUdpHeader;
    sum += std::uint64_t{words_of(src_ip)} + words_of(dst_ip) + kProtocolUdp + udp_length;  // pseudo header
    sum += std::uint64_t{src_port} + dst_port + udp_length;
    const auto checksum = static_cast<std::uint16_t>(~fold(sum));
    return checksum == 0 ? std::uint16_t{0xFFFF} : checksum;
}

std::uint16_t udp_checksum(const IpAddress& src_ip, const IpAddress& dst_ip, std::uint16_t src_port,
                           std::uint16_t dst_port, std::span<const std::uint8_t> payload) noexcept {
    return udp_checksum(src_ip, dst_ip, src_port, dst_port, std::span(&payload, 1));
}

NetHeaderTemplate::NetHeaderTemplate(const NetHeaderSpec& spec) noexcept {
    std::uint8_t* const bytes = bytes_.data();
    std::memcpy(bytes, spec.dst_mac.data(), spec.dst_mac.size());
    std::memcpy(bytes + 6, spec.src_mac.data(), spec.src_mac.size());
    std::size_t ip = kEthernetHeader;
    if (spec.vlan) {
        store_be16(bytes + 12, kEtherTypeVlan);
        store_be16(bytes + 14, *spec.vlan);
        ip += kVlanTag;
    }
    ipv6_ = spec.dst_ip.is_v6();
    const std::size_t udp = ip + (ipv6_ ? kIpv6Header : kIpv4Header);
    length_ = udp + kUdpHeader;
    store_be16(bytes + udp, spec.src_port);
    store_be16(bytes + udp + 2, spec.dst_port);
    if (ipv6_) {
        store_be16(bytes + ip - 2, kEtherTypeIpv6);
        bytes[ip] = 0x60;
        bytes[ip + 6] = kProtocolUdp;
        store_ipv6(bytes + ip + 24, spec.dst_ip.v6());
    } else {
        store_be16(bytes + ip - 2, kEtherTypeIpv4);
        bytes[ip] = 0x45;
        store_be16(bytes + ip + 6, kIpv4DontFragment);
        bytes[ip + 9] = kProtocolUdp;
        store_be32(bytes + ip + 16, spec.dst_ip.v4().value);
    }
    set_source(spec.src_mac, spec.src_ip);
    set_ttl_dscp(spec.ttl, spec.dscp);
}

void NetHeaderTemplate::set_source(const MacAddress& mac, const IpAddress& source_ip) noexcept {
    std::uint8_t* const ip = bytes_.data() + ip_offset();
    std::memcpy(bytes_.data() + mac.size(), mac.data(), mac.size());
    if (ipv6_)
        store_ipv6(ip + 8, source_ip.v6());
    else
        store_be32(ip + 12, source_ip.v4().value);
    sum_up();
}

void NetHeaderTemplate::set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept {
    std::uint8_t* const ip = bytes_.data() + ip_offset();
    if (ipv6_) {
        // The class is between the version and the flow label.
        store_be16(ip, static_cast<std::uint16_t>(0x6000 | dscp << 6));
        ip[7] = ttl;
    } else {
        ip[1] = static_cast<std::uint8_t>(dscp << 2);
        ip[8] = ttl;
    }
    sum_up();
}

void NetHeaderTemplate::sum_up() noexcept {
    sum_without_length_ = fold(sum_words(bytes_.data() + ip_offset(), kIpv4Header));
}

void NetHeaderTemplate::write6(std::uint8_t* out, std::size_t payload_length,
                               std::uint16_t udp_checksum) const noexcept {
    std::memcpy(out, bytes_.data(), length_);
    const auto udp_length = static_cast<std::uint16_t>(payload_length + kUdpHeader);
    std::uint8_t* const udp = out + length_ - kUdpHeader;
    store_be16(out + ip_offset() + 4, udp_length);
    store_be16(udp + 4, udp_length);
    store_be16(udp + 6, udp_checksum);
}

}  // namespace spead::wire
