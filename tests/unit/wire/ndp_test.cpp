// SPDX-License-Identifier: BSD-3-Clause
#include "wire/ndp.hpp"

#include <random>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire::ndp_test {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

constexpr MacAddress kMac{2, 0, 0, 0, 0, 1};
constexpr MacAddress kOtherMac{2, 0, 0, 0, 0, 0x99};
constexpr LinkAddress kHost{kMac, {}, {}, link_local_of(kMac)};
constexpr LinkAddress kOther{kOtherMac, {}, {}, link_local_of(kOtherMac)};
constexpr Ipv6 kOurs{0xFD00000900000000, 1};
constexpr Ipv6 kTheirs{0xFD00000900000000, 2};
constexpr std::size_t kMessage = kEthernetHeader + kIpv6Header;

// Recorded messages of Linux hosts (RFC 4861 4.3, 4.4).
constexpr auto kLinuxSolicitation =
    "3333ff000002 020000000001 86dd 6000000000203aff fd000009000000000000000000000001 "
    "ff0200000000000000000001ff000002 87007d8500000000 fd000009000000000000000000000002 0101020000000001";
constexpr auto kLinuxAdvertisement =
    "020000000001 020000000099 86dd 6000000000203aff fd000009000000000000000000000002 "
    "fd000009000000000000000000000001 88001be860000000 fd000009000000000000000000000002 0201020000000099";
/// Holds an advertisement without an option, which answers a solicitation to its sender alone.
constexpr auto kLinuxShortAdvertisement =
    "020000000099 020000000001 86dd 6000000000183aff fd000009000000000000000000000001 "
    "fe80000000000000000000fffe000099 88003f7d40000000 fd000009000000000000000000000001";
/// Asks whether the address is taken, with a nonce (RFC 7527).
constexpr auto kLinuxProbe =
    "3333ff000003 020000000001 86dd 6000000000203aff 00000000000000000000000000000000 "
    "ff0200000000000000000001ff000003 8700435b00000000 fd000009000000000000000000000003 0e019f957c7e1020";
constexpr auto kLinuxRouterSolicitation =
    "333300000002 020000000001 86dd 6000000000103aff fe80000000000000000000fffe000001 "
    "ff020000000000000000000000000002 85007b2c00000000 0101020000000001";

std::optional<NdpPacket> parse(const Bytes& bytes, const LinkAddress& own = kHost) {
    return parse_ndp(bytes, own);
}

/// Makes the checksum right again, without complete_icmp6(). No VLAN tag.
void sum(Bytes& bytes) {
    const std::size_t length = load_be16(&bytes[18]);
    store_be16(&bytes[kMessage + 2], 0);
    Bytes all(bytes.begin() + 22, bytes.begin() + 54);
    const std::array<std::uint8_t, 8> tail{
        0, 0, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length), 0, 0, 0, 58};
    all.insert(all.end(), tail.begin(), tail.end());
    all.insert(all.end(), bytes.begin() + kMessage,
               bytes.begin() + static_cast<std::ptrdiff_t>(kMessage + length));
    store_be16(&bytes[kMessage + 2], ipv4_checksum(all.data(), all.size()));
}

/// Returns the recorded frame with one byte changed, and the checksum right.
Bytes changed(const char* hex, std::size_t at, std::uint8_t value) {
    Bytes bytes = from_hex(hex);
    bytes[at] = value;
    sum(bytes);
    return bytes;
}

NdpPacket solicitation() {
    NdpPacket packet;
    packet.from = kOurs;
    packet.to = solicited_node(kTheirs);
    packet.target = kTheirs;
    packet.mac = packet.sender_mac = kMac;
    return packet;
}

NdpPacket advertisement() {
    NdpPacket packet;
    packet.type = NdpType::advertisement;
    packet.from = packet.target = kTheirs;
    packet.to = kOurs;
    packet.mac = packet.sender_mac = kOtherMac;
    packet.solicited = packet.replaces = true;
    return packet;
}

Bytes build(const NdpPacket& packet, const MacAddress& to, const LinkAddress& own) {
    Bytes bytes(kNdpRoom);
    bytes.resize(build_ndp(bytes, to, own, packet));
    return bytes;
}

TEST(Ndp, FramesAreThoseOfALinuxHost) {
    EXPECT_EQ(build(solicitation(), multicast_mac6(solicited_node(kTheirs)), kHost),
              from_hex(kLinuxSolicitation));
    EXPECT_EQ(build(advertisement(), kMac, kOther), from_hex(kLinuxAdvertisement));
}

TEST(Ndp, FramesOfALinuxHostAreUnderstood) {
    EXPECT_EQ(parse(from_hex(kLinuxSolicitation)), solicitation());
    EXPECT_EQ(parse(from_hex(kLinuxAdvertisement)), advertisement());
    const auto brief = parse(from_hex(kLinuxShortAdvertisement));
    ASSERT_TRUE(brief);
    EXPECT_FALSE(brief->mac);
    EXPECT_TRUE(brief->solicited);
    EXPECT_FALSE(brief->replaces);
    const auto probe = parse(from_hex(kLinuxProbe));
    ASSERT_TRUE(probe);
    EXPECT_TRUE(is_unspecified(probe->from));
    EXPECT_EQ(probe->target, (Ipv6{0xFD00000900000000, 3}));
    EXPECT_FALSE(parse(from_hex(kLinuxRouterSolicitation))) << "no neighbour's message";
}

TEST(Ndp, InvalidMessagesAreIgnored) {
    constexpr std::size_t kHops = 21, kCode = kMessage + 1, kTarget = kMessage + 8, kOption = kMessage + 24;
    EXPECT_TRUE(parse(changed(kLinuxSolicitation, kHops, 255)));
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kHops, 254))) << "it crossed a router";
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kCode, 1)));
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kTarget, 0xFF))) << "a group as target";
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kOption + 1, 0))) << "an empty option";
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kOption + 1, 2))) << "an option beyond the end";
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, kOption + 2, 1))) << "the MAC address of a group";
    EXPECT_FALSE(parse(changed(kLinuxSolicitation, 22, 0xFF))) << "from a group";
    EXPECT_FALSE(parse(changed(kLinuxAdvertisement, 38, 0xFF))) << "solicited, and to a group";
    EXPECT_FALSE(parse(changed(kLinuxProbe, kOption, 1))) << "a MAC address of nobody's";
    EXPECT_FALSE(parse(changed(kLinuxProbe, 53, 4))) << "to another group than the target's";
    Bytes wrong = from_hex(kLinuxSolicitation);
    wrong[kMessage + 3] ^= 1;
    EXPECT_FALSE(parse(wrong)) << "the checksum";
    EXPECT_FALSE(parse(from_hex(kLinuxSolicitation), {kMac, {}, 42, {}})) << "another VLAN";
}

TEST(Ndp, FramesCarryOurTag) {
    const LinkAddress tagged{kMac, {}, 42, kHost.link_local};
    const Bytes frame = build(solicitation(), kOtherMac, tagged);
    EXPECT_EQ(frame.size(), kNdpRoom);
    EXPECT_EQ(parse(frame, tagged), solicitation());
    Bytes small(kNdpRoom - 1);
    EXPECT_EQ(build_ndp(small, kOtherMac, tagged, solicitation()), 0U);
}

TEST(Ndp, NothingIsReadBeyondTheFrame) {
    std::mt19937 random(1);
    for (const char* hex : {kLinuxSolicitation, kLinuxAdvertisement, kLinuxProbe}) {
        const Bytes whole = from_hex(hex);
        for (std::size_t length = 0; length < whole.size(); length++) {
            const ExactCopy cut(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
            EXPECT_FALSE(parse_ndp({cut.data(), cut.size()}, kHost));
        }
        for (int i = 0; i < 20'000; i++) {
            Bytes wrong = whole;
            for (int k = 0; k < 3; k++)
                wrong[random() % wrong.size()] = static_cast<std::uint8_t>(random());
            if (load_be16(&wrong[18]) + 54U == wrong.size())
                sum(wrong);
            const ExactCopy exact(wrong);
            (void)parse_ndp({exact.data(), exact.size()}, kHost);
        }
    }
}

}  // namespace
}  // namespace spead::wire::ndp_test
