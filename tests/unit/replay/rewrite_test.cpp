// SPDX-License-Identifier: BSD-3-Clause
#include "replay/rewrite.hpp"

#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/wire/frames.hpp"
#include "wire/net.hpp"

namespace spead::replay {
namespace {

using wire::test::Bytes;
using wire::test::Frame;

const NewDestination kElsewhere{{0xEF020304}, 9000, wire::multicast_mac({0xEF020304})};

/// Returns the sum that the frame's UDP header should carry, worked out anew.
std::uint16_t whole_sum(const Bytes& frame, const wire::UdpView& udp) {
    return wire::udp_checksum(udp.source(), udp.destination(), udp.src_port, udp.dst_port,
                              std::span(frame).subspan(udp.payload_offset, udp.payload_length));
}

wire::UdpView parsed(const Bytes& frame) {
    wire::UdpView udp{};
    EXPECT_EQ(wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp), PortOutcome::stream)
        << "the IPv4 checksum is wrong";
    return udp;
}

/// Builds a frame with right checksums.
Bytes right_frame(const Frame& f) {
    Bytes bytes = f.build();
    const wire::UdpView udp = parsed(bytes);
    store_be16(&bytes[f.udp_at() + 6], whole_sum(bytes, udp));
    return bytes;
}

TEST(Rewrite, WithoutRulesNothingChanges) {
    const Bytes before = right_frame({});
    Bytes frame = before;
    const Rewritten r = rewrite(frame, {});
    EXPECT_TRUE(r.good);
    EXPECT_EQ(r.skip, 0U);
    EXPECT_EQ(frame, before);
}

TEST(Rewrite, ChecksumsStayRightWhateverChanges) {
    std::mt19937 random(3);
    for (int round = 0; round < 2000; round++) {
        Frame f;
        f.ihl = 5 + random() % 4;
        if (random() % 2 != 0)
            f.tags = {0x8100};
        f.payload.resize(random() % 300);
        for (auto& byte : f.payload)
            byte = static_cast<std::uint8_t>(random());
        f.padding = random() % 10;
        Bytes frame = right_frame(f);
        const Bytes before = frame;
        RewriteRules rules;
        const Ipv4 address{static_cast<std::uint32_t>(0xEF000000 | random() % 0xFFFFFF)};
        const NewDestination to{address, static_cast<std::uint16_t>(random()), wire::multicast_mac(address)};
        if (random() % 4 != 0)
            rules.to = to;
        if (random() % 2 != 0)
            rules.ttl = static_cast<std::uint8_t>(1 + random() % 255);
        if (random() % 2 != 0)
            rules.source = Ipv4{static_cast<std::uint32_t>(random())};
        ASSERT_TRUE(rewrite(frame, rules).good);
        const wire::UdpView udp = parsed(frame);
        EXPECT_EQ(load_be16(&frame[f.udp_at() + 6]), whole_sum(frame, udp));
        EXPECT_EQ(udp.dst_ip, rules.to ? address.value : 0xEF010203U);
        EXPECT_EQ(udp.dst_port, rules.to ? to.port : 7148);
        EXPECT_EQ(udp.src_ip, rules.source ? rules.source->value : 0x0A000007U);
        EXPECT_EQ(frame[f.ip_at() + 8], rules.ttl.value_or(4));
        const std::uint8_t* const mac = rules.to ? rules.to->mac.data() : before.data();
        EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 6, mac));
        // The payload, and all the rest, is as it was.
        EXPECT_TRUE(std::equal(frame.data() + f.udp_at() + 8, frame.data() + frame.size(),
                               before.data() + f.udp_at() + 8));
    }
}

constexpr Ipv6 kGroup6{0xFF15'0000'0000'0000, 1};
const NewDestination kElsewhere6{Ipv6{0xFF15'0000'0000'0000, 9}, 9000, wire::multicast_mac6({0, 9})};

/// Builds a frame of IPv6 with a right checksum.
Bytes right_frame6(std::vector<std::uint8_t> payload, std::optional<std::uint16_t> vlan = {}) {
    wire::NetHeaderSpec spec;
    spec.dst_mac = wire::multicast_mac6(kGroup6);
    spec.src_ip = Ipv6{0xFD00'0009'0000'0000, 2};
    spec.dst_ip = kGroup6;
    spec.src_port = 50000;
    spec.dst_port = 7148;
    spec.vlan = vlan;
    Bytes frame(wire::NetHeaderTemplate::kMaxLength);
    frame.resize(
        wire::write_headers(frame.data(), spec, payload.size(),
                            wire::udp_checksum(spec.src_ip, spec.dst_ip, 50000, 7148, std::span(payload))));
    frame.insert(frame.end(), payload.begin(), payload.end());
    return frame;
}

TEST(Rewrite, ChecksumsOfIpv6StayRightWhateverChanges) {
    std::mt19937 random(4);
    for (int round = 0; round < 2000; round++) {
        std::vector<std::uint8_t> payload(random() % 300);
        for (auto& byte : payload)
            byte = static_cast<std::uint8_t>(random());
        const bool tagged = random() % 2 != 0;
        Bytes frame = right_frame6(payload, tagged ? std::optional<std::uint16_t>(10) : std::nullopt);
        const Bytes before = frame;
        RewriteRules rules;
        const Ipv6 address{0xFF15'0000'0000'0000 | random(), std::uint64_t{random()} << 32 | random()};
        const NewDestination to{address, static_cast<std::uint16_t>(random()), wire::multicast_mac6(address)};
        if (random() % 4 != 0)
            rules.to = to;
        if (random() % 2 != 0)
            rules.ttl = static_cast<std::uint8_t>(1 + random() % 255);
        if (random() % 2 != 0)
            rules.source6 = Ipv6{0xFD00'0000'0000'0000 | random(), random()};
        rules.source = Ipv4{0x0A000001};
        ASSERT_TRUE(rewrite(frame, rules).good);
        const wire::UdpView udp = parsed(frame);
        ASSERT_TRUE(udp.ipv6);
        EXPECT_EQ(load_be16(&frame[udp.payload_offset - 2]), whole_sum(frame, udp));
        EXPECT_EQ(udp.destination(), IpAddress(rules.to ? address : kGroup6));
        EXPECT_EQ(udp.dst_port, rules.to ? to.port : 7148);
        EXPECT_EQ(udp.src_ip6, rules.source6.value_or(Ipv6{0xFD00'0009'0000'0000, 2}));
        EXPECT_EQ(frame[wire::kEthernetHeader + (tagged ? 4 : 0) + 7], rules.ttl.value_or(1));
        const std::uint8_t* const mac = rules.to ? rules.to->mac.data() : before.data();
        EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 6, mac));
        EXPECT_TRUE(
            std::equal(frame.begin() + udp.payload_offset, frame.end(), payload.begin(), payload.end()));
    }
}

TEST(Rewrite, ADatagramOfTheOtherVersionIsRefusedAndLeftAsItWas) {
    RewriteRules rules;
    rules.ttl = 9;
    rules.to = kElsewhere6;
    Bytes frame = right_frame({});
    const Bytes before = frame;
    EXPECT_FALSE(rewrite(frame, rules).good);
    EXPECT_EQ(frame, before);
    rules.to = kElsewhere;
    Bytes frame6 = right_frame6({1, 2, 3});
    const Bytes before6 = frame6;
    EXPECT_FALSE(rewrite(frame6, rules).good);
    EXPECT_EQ(frame6, before6);
    rules.map[{kGroup6, 7148}] = kElsewhere6;
    ASSERT_TRUE(rewrite(frame6, rules).good) << "the map goes before the rest";
    EXPECT_EQ(parsed(frame6).destination(), kElsewhere6.address);
}

TEST(Rewrite, NoChecksumStaysNoneAndAWrongOneWrong) {
    Frame f;
    Bytes frame = f.build();
    store_be16(&frame[f.udp_at() + 6], 0);
    RewriteRules rules;
    rules.to = kElsewhere;
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(load_be16(&frame[f.udp_at() + 6]), 0U);

    frame = right_frame(f);
    store_be16(&frame[f.udp_at() + 6], static_cast<std::uint16_t>(load_be16(&frame[f.udp_at() + 6]) + 5));
    store_be16(&frame[f.ip_at() + 10], static_cast<std::uint16_t>(load_be16(&frame[f.ip_at() + 10]) ^ 0x100));
    ASSERT_TRUE(rewrite(frame, rules).good);
    wire::UdpView udp{};
    EXPECT_EQ(wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp),
              PortOutcome::bad_checksum);
    ASSERT_EQ(wire::parse_udp(frame.data(), frame.size(), frame.size(), false, udp), PortOutcome::stream);
    EXPECT_NE(load_be16(&frame[f.udp_at() + 6]), whole_sum(frame, udp));
}

TEST(Rewrite, AMapGoesBeforeTheRestAndNamesAddressAndPort) {
    RewriteRules rules;
    rules.map[{Ipv4{0xEF010203}, 7148}] = kElsewhere;
    Frame f;
    Bytes frame = right_frame(f);
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(parsed(frame).destination(), kElsewhere.address);
    const Bytes once = frame;
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(frame, once) << "it is not at the old address any more";
    rules.to = NewDestination{{0xEF050505}, 1, wire::multicast_mac({0xEF050505})};
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(parsed(frame).dst_port, 1U);
    frame = right_frame(f);
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(parsed(frame).dst_port, 9000U);
}

TEST(Rewrite, TagsAreTakenAwayFromAnyFrame) {
    Frame f;
    Frame tagged = f;
    tagged.tags = {0x88A8, 0x8100};
    Bytes frame = right_frame(tagged);
    RewriteRules rules;
    rules.strip_vlan = true;
    rules.source_mac = MacAddress{2, 0, 0, 0, 0, 9};
    const Rewritten r = rewrite(frame, rules);
    ASSERT_TRUE(r.good);
    ASSERT_EQ(r.skip, 8U);
    Bytes expected = right_frame(f);
    std::copy(rules.source_mac->begin(), rules.source_mac->end(), expected.begin() + 6);
    EXPECT_EQ(Bytes(frame.begin() + r.skip, frame.end()), expected);

    Bytes arp(42, 0);
    store_be16(&arp[12], 0x8100);
    store_be16(&arp[16], wire::kEtherTypeArp);
    EXPECT_EQ(rewrite(arp, rules).skip, 4U);
}

TEST(Rewrite, WhatIsNoDatagramIsRefusedOnlyWhereItWouldHaveToBe) {
    Frame f;
    f.fragment = 0x2000;
    Bytes fragment = f.build();
    EXPECT_TRUE(rewrite(fragment, {}).good);
    RewriteRules rules;
    rules.ttl = 3;
    EXPECT_FALSE(rewrite(fragment, rules).good);
    Bytes arp(42, 0);
    store_be16(&arp[12], wire::kEtherTypeArp);
    EXPECT_FALSE(rewrite(arp, rules).good);
}

/// Tests any bytes of any length. AddressSanitizer watches.
TEST(Rewrite, HostileFramesAreLeftInTheirBounds) {
    std::mt19937 random(11);
    RewriteRules rules;
    rules.to = kElsewhere;
    rules.ttl = 1;
    rules.source = Ipv4{1};
    rules.source_mac = MacAddress{};
    rules.strip_vlan = true;
    for (int round = 0; round < 20000; round++) {
        Frame f;
        for (std::size_t i = 0; i < random() % 4; i++)
            f.tags.push_back(random() % 2 != 0 ? 0x8100 : 0x88A8);
        f.ihl = 5 + random() % 11;
        Bytes frame = f.build();
        for (int i = 0; i < 3; i++)
            frame[random() % frame.size()] = static_cast<std::uint8_t>(random());
        const wire::test::ExactCopy exact(frame, random() % (frame.size() + 1));
        const Rewritten r = rewrite({const_cast<std::uint8_t*>(exact.data()), exact.size()}, rules);
        EXPECT_LE(r.skip, exact.size());
    }
    rules.to = kElsewhere6;
    rules.source6 = Ipv6{1, 1};
    for (int round = 0; round < 20000; round++) {
        Bytes frame = right_frame6({1, 2, 3, 4});
        for (int i = 0; i < 3; i++)
            frame[random() % frame.size()] = static_cast<std::uint8_t>(random());
        const wire::test::ExactCopy exact(frame, random() % (frame.size() + 1));
        const Rewritten r = rewrite({const_cast<std::uint8_t*>(exact.data()), exact.size()}, rules);
        EXPECT_LE(r.skip, exact.size());
    }
}

}  // namespace
}  // namespace spead::replay
