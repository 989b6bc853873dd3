// SPDX-License-Identifier: BSD-3-Clause
#include "wire/icmp6.hpp"

#include <cstring>

namespace spead::wire {
namespace {

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kDestinationOptions = 60;
// Options (RFC 8200 4.2, RFC 2711 2.1).
constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kPadN = 1;
constexpr std::uint8_t kRouterAlert6 = 5;

/// Returns the sum of the message and its pseudo header (RFC 8200 8.1), inverted: 0 for a message with a
/// right checksum. `ip` is the IPv6 header.
std::uint16_t checksum(const std::uint8_t* ip, std::span<const std::uint8_t> message) noexcept {
    constexpr std::size_t addresses = 32;
    const auto of_message = static_cast<std::uint16_t>(~ipv4_checksum(message.data(), message.size()));
    const auto of_addresses = static_cast<std::uint16_t>(~ipv4_checksum(ip + 8, addresses));
    std::uint32_t sum = std::uint32_t{of_message} + of_addresses + kProtocolIcmp6 +
                        static_cast<std::uint32_t>(message.size());
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

/// Returns whether the options have a router alert for MLD: of length 2 and value 0.
bool has_alert(std::span<const std::uint8_t> options) noexcept {
    while (!options.empty()) {
        if (options[0] == kPad1) {
            options = options.subspan(1);
            continue;
        }
        if (options.size() < 2 || std::size_t{options[1]} + 2 > options.size())
            return false;
        if (options[0] == kRouterAlert6 && options[1] == 2 && load_be16(&options[2]) == 0)
            return true;
        options = options.subspan(std::size_t{options[1]} + 2);
    }
    return false;
}

}  // namespace

Icmp6Refusal parse_icmp6(std::span<const std::uint8_t> frame, const LinkAddress& own,
                         Icmp6View& out) noexcept {
    const auto ip = payload_of(frame, kEtherTypeIpv6, own);
    if (ip.size() < kIpv6Header || ip[0] >> 4 != 6)
        return Icmp6Refusal::not_icmp6;
    const std::size_t length = load_be16(&ip[4]);
    if (length > ip.size() - kIpv6Header)
        return Icmp6Refusal::malformed;
    out = {};
    std::span<const std::uint8_t> rest = ip.subspan(kIpv6Header, length);
    std::uint8_t next = ip[6];
    std::size_t walked = 0;
    while (next == kHopByHop || next == kDestinationOptions) {
        if (rest.size() < kAlertOptions || (next == kHopByHop && walked != 0))
            return Icmp6Refusal::malformed;
        const std::size_t options = (std::size_t{rest[1]} + 1) * 8;
        if (options > rest.size())
            return Icmp6Refusal::malformed;
        walked += options;
        if (walked > kMaxIpv6Options)
            return Icmp6Refusal::not_icmp6;
        if (next == kHopByHop)
            out.alert = has_alert(rest.subspan(2, options - 2));
        next = rest[0];
        rest = rest.subspan(options);
    }
    if (next != kProtocolIcmp6)
        return Icmp6Refusal::not_icmp6;
    if (rest.size() < kIcmp6Message)
        return Icmp6Refusal::malformed;
    if (checksum(ip.data(), rest) != 0)
        return Icmp6Refusal::bad_checksum;
    out.from = load_ipv6(&ip[8]);
    out.to = load_ipv6(&ip[24]);
    out.hop_limit = ip[7];
    out.message = rest;
    return Icmp6Refusal::none;
}

std::size_t complete_icmp6(std::uint8_t* out, const LinkAddress& own, const Icmp6Headers& headers,
                           std::size_t length) noexcept {
    const std::size_t at = icmp6_message_at(own, headers.alert);
    const std::size_t ip_at = write_link(out, headers.to_mac, own, kEtherTypeIpv6);
    std::uint8_t* const ip = out + ip_at;
    std::memset(ip, 0, kIpv6Header);
    ip[0] = 0x60;
    store_be16(ip + 4, static_cast<std::uint16_t>(at + length - ip_at - kIpv6Header));
    ip[6] = headers.alert ? kHopByHop : kProtocolIcmp6;
    ip[7] = headers.hop_limit;
    store_ipv6(ip + 8, headers.from);
    store_ipv6(ip + 24, headers.to);
    if (headers.alert) {
        // The next header, the length of 8 bytes as 0, the router alert of MLD, and two bytes of padding.
        const std::uint8_t options[kAlertOptions] = {kProtocolIcmp6, 0, kRouterAlert6, 2, 0, 0, kPadN, 0};
        std::memcpy(ip + kIpv6Header, options, sizeof options);
    }
    std::uint8_t* const message = out + at;
    store_be16(message + 2, 0);
    store_be16(message + 2, checksum(ip, {message, length}));
    return pad_frame(out, at + length);
}

}  // namespace spead::wire
