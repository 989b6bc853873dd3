// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/byte_order.hpp"
#include "base/endpoint.hpp"
#include "base/ipv6_bytes.hpp"
#include "base/mac.hpp"
#include "base/outcome.hpp"

/// Reads Ethernet, 802.1Q/802.1ad, IPv4, IPv6 and UDP headers of a received frame, and writes them for
/// sending.
///
/// All addresses, ports and lengths in this interface are in host order; lengths and offsets are bytes.
/// Nothing here allocates or throws. Sources: IEEE 802.3 and 802.1Q, RFC 791 (IPv4), RFC 8200 (IPv6), RFC 768
/// (UDP), RFC 1071 (checksum), RFC 1112 (multicast MAC addresses).
namespace spead::wire {

using spead::MacAddress;

inline constexpr std::size_t kEthernetHeader = 14;  ///< dst MAC 6, src MAC 6, ethertype 2
inline constexpr std::size_t kVlanTag = 4;          ///< TPID 2, TCI 2; stands before the ethertype
inline constexpr std::size_t kIpv4Header = 20;      ///< without options
inline constexpr std::size_t kMaxIpv4Header = 60;
inline constexpr std::size_t kIpv6Header = 40;      ///< without extension headers
inline constexpr std::size_t kMaxIpv6Options = 64;  ///< bytes of extension headers that parse_udp walks
inline constexpr std::size_t kUdpHeader = 8;
inline constexpr std::size_t kMaxVlanTags = 2;

/// Holds the bytes before the UDP payload of the usual frame: no tag, no options.
inline constexpr std::size_t kNetHeader = kEthernetHeader + kIpv4Header + kUdpHeader;
/// Holds the same of IPv6: no tag, no extension header.
inline constexpr std::size_t kNetHeader6 = kEthernetHeader + kIpv6Header + kUdpHeader;
/// Holds the most bytes that parse_udp reads: two tags, IPv6 with extension headers, UDP. IPv4 has fewer.
inline constexpr std::size_t kMaxNetHeader =
    kEthernetHeader + kMaxVlanTags * kVlanTag + kIpv6Header + kMaxIpv6Options + kUdpHeader;
static_assert(kIpv6Header + kMaxIpv6Options >= kMaxIpv4Header);
/// Holds the longest UDP payload of an IPv4 datagram without options.
inline constexpr std::size_t kMaxUdpPayload = 65535 - kIpv4Header - kUdpHeader;

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86DD;
inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;  ///< 802.1Q
inline constexpr std::uint16_t kEtherTypeQinQ = 0x88A8;  ///< 802.1ad
inline constexpr std::uint8_t kProtocolIgmp = 2;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolIcmp6 = 58;
inline constexpr std::uint16_t kIpv4DontFragment = 0x4000;
inline constexpr std::uint16_t kIpv4FragmentMask = 0x3FFF;  ///< more-fragments bit and fragment offset

/// Describes a UDP datagram inside a frame.
struct UdpView {
    std::uint32_t src_ip, dst_ip;  ///< of IPv4; of IPv6 sender_key() of the source, and 0
    std::uint16_t src_port, dst_port;
    std::uint32_t payload_offset;  ///< from the first byte of the frame
    std::uint32_t payload_length;  ///< UDP length - 8; payload_offset + payload_length <= frame length
    std::uint8_t vlan_tags;        ///< 0, 1 or 2
    bool ipv6;
    Ipv6 src_ip6, dst_ip6;  ///< only of IPv6

    IpAddress source() const noexcept { return ipv6 ? IpAddress(src_ip6) : IpAddress(Ipv4{src_ip}); }
    IpAddress destination() const noexcept { return ipv6 ? IpAddress(dst_ip6) : IpAddress(Ipv4{dst_ip}); }

    bool operator==(const UdpView& o) const noexcept {
        return source() == o.source() && destination() == o.destination() && src_port == o.src_port &&
               dst_port == o.dst_port && payload_offset == o.payload_offset &&
               payload_length == o.payload_length && vlan_tags == o.vlan_tags;
    }
};

/// Returns whether a packet of IPv6 may come from the address. A group and :: are nobody's (RFC 4291). An
/// IPv4 address that is mapped into IPv6 never is on a wire, and would pass for a sender of IPv4.
constexpr bool is_source(const Ipv6& address) noexcept {
    const bool unspecified_or_mapped = address.high == 0 && (address.low == 0 || address.low >> 32 == 0xFFFF);
    return !address.is_multicast() && !unspecified_or_mapped;
}

/// Recognises the usual frame (no tag, no options, nothing wrong) by two masked loads. Returns false when
/// nothing is known: call parse_udp. The first min(frame_length, kNetHeader) bytes are contiguous at `head`.
[[gnu::always_inline]] inline bool parse_udp_fast_path(const std::uint8_t* head, std::size_t frame_length,
                                                       bool verify_ip_checksum, UdpView& out) noexcept {
    if (frame_length < kNetHeader) [[unlikely]]
        return false;
    std::uint64_t at12, at16;
    std::memcpy(&at12, head + 12, sizeof at12);
    std::memcpy(&at16, head + 16, sizeof at16);
    // Ethertype, version and IHL; fragment bits and protocol.
    constexpr std::uint64_t mask12 = 0x0000000000FFFFFF, want12 = 0x0000000000450008;
    constexpr std::uint64_t mask16 = 0xFF00FF3F00000000, want16 = 0x1100000000000000;
    const std::uint64_t odd = ((at12 ^ want12) & mask12) | ((at16 ^ want16) & mask16);
    const std::uint32_t ip_length = byte_swap(static_cast<std::uint16_t>(at16));
    const std::uint32_t udp_length = load_be16(head + 38);
    const bool lengths_fit = (udp_length >= kUdpHeader) & (udp_length + kIpv4Header <= ip_length) &
                             (ip_length + kEthernetHeader <= frame_length);
    if ((odd != 0) | !lengths_fit) [[unlikely]]
        return false;
    if (verify_ip_checksum) {
        // One's complement sum in 64-bit steps (RFC 1071); all of the header sums up to 0xFFFF.
        std::uint64_t a, b;
        std::uint32_t c;
        std::memcpy(&a, head + 14, sizeof a);
        std::memcpy(&b, head + 22, sizeof b);
        std::memcpy(&c, head + 30, sizeof c);
        std::uint64_t sum = (a & 0xFFFFFFFF) + (a >> 32) + (b & 0xFFFFFFFF) + (b >> 32) + c;
        sum = (sum & 0xFFFF) + ((sum >> 16) & 0xFFFF) + (sum >> 32);
        sum = (sum & 0xFFFF) + (sum >> 16);
        if (((sum & 0xFFFF) + (sum >> 16)) != 0xFFFF) [[unlikely]]
            return false;
    }
    out.src_ip = load_be32(head + 26);
    out.dst_ip = load_be32(head + 30);
    out.src_port = load_be16(head + 34);
    out.dst_port = load_be16(head + 36);
    out.payload_offset = kNetHeader;
    out.payload_length = udp_length - static_cast<std::uint32_t>(kUdpHeader);
    out.vlan_tags = 0;
    out.ipv6 = false;
    return true;
}

/// Does parse_udp for every frame; out of line, the same contract.
PortOutcome parse_udp_general(const std::uint8_t* head, std::size_t head_length, std::size_t frame_length,
                              bool verify_ip_checksum, UdpView& out) noexcept;

/// Finds the UDP datagram of a received frame.
///
/// `head` points at the first `head_length` contiguous bytes of a frame of `frame_length` bytes (without
/// FCS), and head_length >= min(frame_length, kMaxNetHeader); nothing beyond either length is read. Returns
/// `stream` and fills `out`, or the reason why not, and then `out` is unspecified:
///   malformed     truncated header, an IP version that is not the ethertype's, lengths that contradict each
///                 other or the frame, hop-by-hop options that are not first,
///                 an IPv6 source that no host can have (is_source)
///   arp, igmp     what they say
///   mld, ndp      ICMPv6 of the types that listeners, neighbours and routers of a link speak (RFC 3810,
///   4861) not_udp       another ethertype (a third VLAN tag included), protocol or extension header (a
///   routing
///                 header, too), or more than kMaxIpv6Options of options
///   fragment      more-fragments bit set or fragment offset not 0, whatever the protocol; any fragment
///   header
///                 of IPv6, atomic ones (RFC 6946) included
///   bad_checksum  only if `verify_ip_checksum`: the IPv4 header's sum is wrong; always: IPv6 without a UDP
///                 checksum (RFC 8200 8.1)
/// Accepted: Ethernet padding (frame longer than the IP datagram), a UDP length shorter than the IP payload,
/// any other UDP checksum (it is never verified), IPv4 options, hop-by-hop and destination options of IPv6,
/// which are passed over. No other address is judged.
[[gnu::always_inline]] inline PortOutcome parse_udp(const std::uint8_t* head, std::size_t head_length,
                                                    std::size_t frame_length, bool verify_ip_checksum,
                                                    UdpView& out) noexcept {
    if (head_length >= kNetHeader && parse_udp_fast_path(head, frame_length, verify_ip_checksum, out))
        [[likely]]
        return PortOutcome::stream;
    return parse_udp_general(head, head_length, frame_length, verify_ip_checksum, out);
}

/// Returns the Ethernet address of a multicast group (RFC 1112 6.4): 01:00:5e and the group's low 23 bits.
constexpr MacAddress multicast_mac(Ipv4 group) noexcept {
    return {0x01,
            0x00,
            0x5E,
            static_cast<std::uint8_t>((group.value >> 16) & 0x7F),
            static_cast<std::uint8_t>(group.value >> 8),
            static_cast<std::uint8_t>(group.value)};
}

/// Returns that of an IPv6 group (RFC 2464 7): 33:33 and the group's low 32 bits.
constexpr MacAddress multicast_mac6(const Ipv6& group) noexcept {
    return {0x33,
            0x33,
            static_cast<std::uint8_t>(group.low >> 24),
            static_cast<std::uint8_t>(group.low >> 16),
            static_cast<std::uint8_t>(group.low >> 8),
            static_cast<std::uint8_t>(group.low)};
}

/// Returns that of a group of either IP version.
constexpr MacAddress multicast_mac_of(const IpAddress& group) noexcept {
    return group.is_v4() ? multicast_mac(group.v4()) : multicast_mac6(group.v6());
}

/// Returns the link-local address of an interface with this MAC address (RFC 4291 2.5.1, 2.5.6).
constexpr Ipv6 link_local_of(const MacAddress& mac) noexcept {
    std::uint64_t id = 0;
    for (std::size_t i = 0; i < mac.size(); i++) {
        id = id << 8 | static_cast<std::uint8_t>(i == 0 ? mac[i] ^ 2U : mac[i]);
        if (i == 2)
            id = id << 16 | 0xFFFE;
    }
    return {0xFE80'0000'0000'0000, id};
}

/// Returns the checksum (RFC 1071) of an IPv4 header of `length` bytes, to be stored big-endian into its
/// checksum field, which must be 0 during the call. For a header with a right checksum the result is 0.
std::uint16_t ipv4_checksum(const void* header, std::size_t length) noexcept;

/// Returns the UDP checksum (RFC 768) of a datagram whose payload is the concatenation of `payload`, over the
/// pseudo header, the UDP header with checksum 0, and the payload. Never 0, which means "no checksum" on the
/// wire: 0xFFFF replaces it. The pieces may have any lengths, odd ones included; their sum must be at most
/// kMaxUdpPayload.
std::uint16_t udp_checksum(const IpAddress& src_ip, const IpAddress& dst_ip, std::uint16_t src_port,
                           std::uint16_t dst_port,
                           std::span<const std::span<const std::uint8_t>> payload) noexcept;

/// Returns the same for a payload in one piece.
std::uint16_t udp_checksum(const IpAddress& src_ip, const IpAddress& dst_ip, std::uint16_t src_port,
                           std::uint16_t dst_port, std::span<const std::uint8_t> payload) noexcept;

/// Returns the sum of the address's 16-bit words, for the pseudo headers of RFC 768 and RFC 8200 8.1.
constexpr std::uint32_t words_of(const IpAddress& address) noexcept {
    const auto sum = [](std::uint64_t v) {
        return static_cast<std::uint32_t>((v >> 48) + (v >> 32 & 0xFFFF) + (v >> 16 & 0xFFFF) + (v & 0xFFFF));
    };
    return address.is_v4() ? sum(address.v4().value) : sum(address.v6().high) + sum(address.v6().low);
}

/// Holds the values for the headers of a sent datagram.
struct NetHeaderSpec {
    MacAddress src_mac{}, dst_mac{};
    IpAddress src_ip{}, dst_ip{};  ///< of one IP version
    std::uint16_t src_port = 0, dst_port = 0;
    std::uint8_t ttl = 1;               ///< of IPv6 the hop limit
    std::uint8_t dscp = 0;              ///< 0..63
    std::optional<std::uint16_t> vlan;  ///< TCI of an 802.1Q tag: priority 3 bits, DEI 1, VLAN id 12
};

/// Makes Ethernet, VLAN, IP and UDP headers once, then writes them before each packet with only the lengths
/// and the checksums changed. IPv4: no options, don't-fragment set, identification 0 (as spead2 sends). IPv6:
/// no extension headers, flow label 0. Copyable; const use from several threads is safe.
class NetHeaderTemplate {
  public:
    static constexpr std::size_t kMaxLength = kNetHeader6 + kVlanTag;

    NetHeaderTemplate() noexcept : NetHeaderTemplate(NetHeaderSpec{}) {}
    explicit NetHeaderTemplate(const NetHeaderSpec& spec) noexcept;

    /// Returns the bytes of all headers: 42, of IPv6 62, and 4 more with a VLAN tag.
    std::size_t length() const noexcept { return length_; }
    /// Returns the offset of the IP header (14 or 18), which checksum offload calls l2_len.
    std::size_t ip_offset() const noexcept {
        return length_ - kUdpHeader - (ipv6_ ? kIpv6Header : kIpv4Header);
    }

    /// Changes the destination MAC address.
    void set_dst_mac(const MacAddress& mac) noexcept { std::memcpy(bytes_.data(), mac.data(), mac.size()); }

    /// Changes the source addresses. `ip` is of the template's version.
    void set_source(const MacAddress& mac, const IpAddress& ip) noexcept;

    /// Changes the TTL, or the hop limit, and the class (RFC 2474), 0..63.
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept;

    /// Writes length() bytes to `out` for a datagram of `payload_length` <= kMaxUdpPayload bytes. The IPv4
    /// checksum is valid; the UDP checksum is `udp_checksum` as given (0: none, which receivers of IPv6
    /// refuse).
    [[gnu::always_inline]] void write(std::uint8_t* out, std::size_t payload_length,
                                      std::uint16_t udp_checksum = 0) const noexcept {
        if (ipv6_) [[unlikely]] {
            write6(out, payload_length, udp_checksum);
            return;
        }
        // The last 42 bytes are always there, the tag makes it 46: two copies of fixed size, overlapping.
        std::memcpy(out, bytes_.data(), 16);
        std::memcpy(out + length_ - 42, bytes_.data() + length_ - 42, 42);
        std::uint8_t* const ip = out + length_ - kUdpHeader - kIpv4Header;
        const auto udp_length = static_cast<std::uint16_t>(payload_length + kUdpHeader);
        const auto ip_length = static_cast<std::uint16_t>(udp_length + kIpv4Header);
        std::uint32_t sum = sum_without_length_ + ip_length;
        sum = (sum & 0xFFFF) + (sum >> 16);
        store_be16(ip + 2, ip_length);
        store_be16(ip + 10, static_cast<std::uint16_t>(~sum));
        store_be16(ip + 24, udp_length);
        store_be16(ip + 26, udp_checksum);
    }

  private:
    void write6(std::uint8_t* out, std::size_t payload_length, std::uint16_t udp_checksum) const noexcept;
    void sum_up() noexcept;

    std::array<std::uint8_t, 72> bytes_{};
    std::size_t length_ = 0;
    std::uint32_t sum_without_length_ = 0;  ///< of the IPv4 header, folded to 16 bits
    bool ipv6_ = false;
};

/// Writes the headers of one datagram of `payload_length` <= kMaxUdpPayload bytes to `out`, which has room
/// for NetHeaderTemplate::kMaxLength bytes; returns their length.
inline std::size_t write_headers(std::uint8_t* out, const NetHeaderSpec& spec, std::size_t payload_length,
                                 std::uint16_t udp_checksum = 0) noexcept {
    const NetHeaderTemplate headers(spec);
    headers.write(out, payload_length, udp_checksum);
    return headers.length();
}

}  // namespace spead::wire
