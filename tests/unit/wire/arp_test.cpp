// SPDX-License-Identifier: BSD-3-Clause
#include "wire/arp.hpp"

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::from_hex;

constexpr LinkAddress kArpHost{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
constexpr ArpPacket kAsk{ArpOperation::request, kArpHost.mac, kArpHost.ip, {}, {0x0A090002}};

Bytes build(const ArpPacket& packet, const LinkAddress& from = kArpHost) {
    Bytes bytes(100);
    bytes.resize(build_arp(bytes, kBroadcastMac, from, packet));
    return bytes;
}

TEST(Arp, ARequestHasTheBytesOfRfc826) {
    Bytes golden = from_hex(
        "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a090001 000000000000 0a090002");
    golden.resize(kLeastFrame);
    EXPECT_EQ(build(kAsk), golden);
    golden.resize(42);
    EXPECT_EQ(parse_arp(golden, kArpHost), kAsk);
}

TEST(Arp, AReplyIsReadAsItWasWritten) {
    const ArpPacket reply{ArpOperation::reply, {2, 0, 0, 0, 0, 9}, {0x0A090002}, kArpHost.mac, kArpHost.ip};
    EXPECT_EQ(parse_arp(build(reply), kArpHost), reply);
    Bytes small(kLeastFrame - 1);
    EXPECT_EQ(build_arp(small, kBroadcastMac, kArpHost, reply), 0U);
}

TEST(Arp, OnlyFramesOfOurVlanAreOurs) {
    const LinkAddress tagged{kArpHost.mac, kArpHost.ip, 100};
    EXPECT_EQ(parse_arp(build(kAsk, tagged), tagged), kAsk);
    EXPECT_FALSE(parse_arp(build(kAsk, tagged), kArpHost));
    EXPECT_FALSE(parse_arp(build(kAsk), tagged));
}

TEST(Arp, WhatIsNotAHostsPacketIsRefused) {
    const auto spoilt = [](std::size_t at, std::uint8_t value) {
        Bytes bytes = build(kAsk);
        bytes[at] = value;
        return !parse_arp(bytes, kArpHost).has_value();
    };
    EXPECT_FALSE(spoilt(0, 2)) << "to whom it is sent means nothing";
    EXPECT_TRUE(spoilt(12, 0x86));
    EXPECT_TRUE(spoilt(15, 6)) << "hardware";
    EXPECT_TRUE(spoilt(16, 0x86)) << "protocol";
    EXPECT_TRUE(spoilt(18, 8));
    EXPECT_TRUE(spoilt(19, 16));
    EXPECT_TRUE(spoilt(21, 0));
    EXPECT_TRUE(spoilt(21, 3)) << "reverse ARP";
    EXPECT_TRUE(spoilt(20, 1));
    EXPECT_TRUE(spoilt(22, 3)) << "a group as sender";
    EXPECT_TRUE(spoilt(28, 224));
    EXPECT_TRUE(spoilt(28, 255));
    Bytes nobody = build(kAsk);
    std::fill_n(nobody.begin() + 22, 6, std::uint8_t{0});
    EXPECT_FALSE(parse_arp(nobody, kArpHost));
}

TEST(Arp, NoByteBeyondTheFrameIsRead) {
    const Bytes whole = build(kAsk);
    for (std::size_t length = 0; length < 42; length++) {
        const ExactCopy cut(whole, length);
        EXPECT_FALSE(parse_arp({cut.data(), cut.size()}, kArpHost)) << length;
    }
    const Bytes tagged = build(kAsk, {kArpHost.mac, kArpHost.ip, 100});
    for (std::size_t length = 0; length < 46; length++) {
        const ExactCopy cut(tagged, length);
        EXPECT_FALSE(parse_arp({cut.data(), cut.size()}, {{}, {}, 100})) << length;
    }
}

}  // namespace
}  // namespace spead::wire
