// SPDX-License-Identifier: BSD-3-Clause
#include "wire/arp.hpp"

#include "wire/mac_bytes.hpp"

namespace spead::wire {
namespace {

constexpr std::uint16_t kHardwareEthernet = 1;

}  // namespace

std::optional<ArpPacket> parse_arp(std::span<const std::uint8_t> frame, const LinkAddress& own) noexcept {
    const auto arp = payload_of(frame, kEtherTypeArp, own);
    if (arp.size() < kArpPacket || load_be16(&arp[0]) != kHardwareEthernet ||
        load_be16(&arp[2]) != kEtherTypeIpv4 || arp[4] != 6 || arp[5] != 4)
        return std::nullopt;
    const std::uint16_t operation = load_be16(&arp[6]);
    if (operation != static_cast<std::uint16_t>(ArpOperation::request) &&
        operation != static_cast<std::uint16_t>(ArpOperation::reply))
        return std::nullopt;
    ArpPacket packet;
    packet.operation = static_cast<ArpOperation>(operation);
    packet.sender_mac = load_mac(&arp[8]);
    packet.sender_ip.value = load_be32(&arp[14]);
    packet.target_mac = load_mac(&arp[18]);
    packet.target_ip.value = load_be32(&arp[24]);
    if (!can_be_a_host(packet.sender_mac) || packet.sender_ip.value >> 28 >= 0xE)
        return std::nullopt;
    return packet;
}

std::size_t build_arp(std::span<std::uint8_t> out, const MacAddress& to, const LinkAddress& from,
                      const ArpPacket& packet) noexcept {
    if (out.size() < kLeastFrame)
        return 0;
    const std::size_t at = write_link(out.data(), to, from, kEtherTypeArp);
    std::uint8_t* const arp = out.data() + at;
    store_be16(arp, kHardwareEthernet);
    store_be16(arp + 2, kEtherTypeIpv4);
    arp[4] = 6;
    arp[5] = 4;
    store_be16(arp + 6, static_cast<std::uint16_t>(packet.operation));
    std::memcpy(arp + 8, packet.sender_mac.data(), packet.sender_mac.size());
    store_be32(arp + 14, packet.sender_ip.value);
    std::memcpy(arp + 18, packet.target_mac.data(), packet.target_mac.size());
    store_be32(arp + 24, packet.target_ip.value);
    return pad_frame(out.data(), at + kArpPacket);
}

}  // namespace spead::wire
