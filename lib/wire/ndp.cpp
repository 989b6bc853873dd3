// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ndp.hpp"

#include <cstring>

#include "wire/mac_bytes.hpp"

namespace spead::wire {
namespace {

constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint8_t kSourceMac = 1;
constexpr std::uint8_t kTargetMac = 2;
constexpr std::uint8_t kRouterFlag = 0x80;
constexpr std::uint8_t kSolicitedFlag = 0x40;
constexpr std::uint8_t kOverrideFlag = 0x20;

constexpr std::uint8_t option_of(NdpType type) noexcept {
    return type == NdpType::solicitation ? kSourceMac : kTargetMac;
}

/// Reads the options; false when one is empty or not whole, or has an impossible MAC address.
bool read_options(std::span<const std::uint8_t> options, NdpPacket& packet) noexcept {
    while (!options.empty()) {
        if (options.size() < 2)
            return false;
        const std::size_t length = std::size_t{options[1]} * 8;
        if (length == 0 || length > options.size())
            return false;
        if (options[0] == option_of(packet.type)) {
            const MacAddress mac = load_mac(&options[2]);
            if (length != kNdpMacOption || !can_be_a_host(mac))
                return false;
            packet.mac = mac;
        }
        options = options.subspan(length);
    }
    return true;
}

bool addresses_fit(const NdpPacket& packet) noexcept {
    if (packet.target.is_multicast() || packet.from.is_multicast() || is_unspecified(packet.target))
        return false;
    if (packet.type == NdpType::advertisement)
        return !is_unspecified(packet.from) && !(packet.to.is_multicast() && packet.solicited);
    return !is_unspecified(packet.from) || (packet.to == solicited_node(packet.target) && !packet.mac);
}

}  // namespace

std::optional<NdpPacket> parse_ndp(std::span<const std::uint8_t> frame, const LinkAddress& own) noexcept {
    Icmp6View view;
    if (parse_icmp6(frame, own, view) != Icmp6Refusal::none || view.message.size() < kNdpMessage ||
        view.hop_limit != kHopLimit || view.message[1] != 0)
        return std::nullopt;
    NdpPacket packet;
    packet.type = static_cast<NdpType>(view.message[0]);
    if (packet.type != NdpType::solicitation && packet.type != NdpType::advertisement)
        return std::nullopt;
    packet.from = view.from;
    packet.to = view.to;
    packet.target = load_ipv6(&view.message[8]);
    packet.sender_mac = load_mac(&frame[6]);
    if (packet.type == NdpType::advertisement) {
        packet.router = (view.message[4] & kRouterFlag) != 0;
        packet.solicited = (view.message[4] & kSolicitedFlag) != 0;
        packet.replaces = (view.message[4] & kOverrideFlag) != 0;
    }
    if (!can_be_a_host(packet.sender_mac) || !read_options(view.message.subspan(kNdpMessage), packet) ||
        !addresses_fit(packet))
        return std::nullopt;
    return packet;
}

std::size_t build_ndp(std::span<std::uint8_t> out, const MacAddress& to, const LinkAddress& own,
                      const NdpPacket& packet) noexcept {
    if (out.size() < kNdpRoom)
        return 0;
    std::uint8_t* const message = out.data() + icmp6_message_at(own, false);
    std::memset(message, 0, kNdpMessage + kNdpMacOption);
    message[0] = static_cast<std::uint8_t>(packet.type);
    if (packet.type == NdpType::advertisement)
        message[4] = static_cast<std::uint8_t>((packet.router ? kRouterFlag : 0) |
                                               (packet.solicited ? kSolicitedFlag : 0) |
                                               (packet.replaces ? kOverrideFlag : 0));
    store_ipv6(message + 8, packet.target);
    std::size_t length = kNdpMessage;
    if (packet.mac) {
        message[length] = option_of(packet.type);
        message[length + 1] = 1;
        std::memcpy(message + length + 2, packet.mac->data(), packet.mac->size());
        length += kNdpMacOption;
    }
    return complete_icmp6(out.data(), own, {to, packet.from, packet.to, kHopLimit, false}, length);
}

}  // namespace spead::wire
