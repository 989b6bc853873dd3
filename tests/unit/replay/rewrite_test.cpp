// SPDX-License-Identifier: BSD-3-Clause
#include "replay/rewrite.hpp"

#include <random>

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
    return wire::udp_checksum(udp.src_ip, udp.dst_ip, udp.src_port, udp.dst_port,
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
        EXPECT_EQ(udp.dst_ip, rules.to ? to.address.value : 0xEF010203U);
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
    rules.map[{0xEF010203, 7148}] = kElsewhere;
    Frame f;
    Bytes frame = right_frame(f);
    ASSERT_TRUE(rewrite(frame, rules).good);
    EXPECT_EQ(parsed(frame).dst_ip, kElsewhere.address.value);
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
}

}  // namespace
}  // namespace spead::replay
