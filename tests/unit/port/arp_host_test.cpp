// SPDX-License-Identifier: BSD-3-Clause
#include "port/arp_host.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace spead::port {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::ArpOperation;
using wire::ArpPacket;

constexpr wire::LinkAddress kOwn{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
constexpr wire::LinkAddress kPeer{{2, 0, 0, 0, 0, 9}, {0x0A090009}, {}};
constexpr MacAddress kOtherMac{2, 0, 0, 0, 0, 10};

struct Sent {
    ArpHost::Time time;
    MacAddress to;
    ArpPacket packet;
};

class ArpHostTest : public ::testing::Test {
  protected:
    void run(milliseconds d) {
        const auto end = now + d;
        for (;;) {
            for (const Frame& frame : host.step(now)) {
                const auto packet = wire::parse_arp(frame, kPeer);
                ASSERT_TRUE(packet);
                MacAddress to;
                std::copy_n(frame.begin(), to.size(), to.begin());
                sent.push_back({now, to, *packet});
            }
            const auto next = std::max(host.next(), now + milliseconds(1));
            if (next > end)
                break;
            now = next;
        }
        now = end;
    }
    void hear(const ArpPacket& packet) {
        Frame frame(wire::kLeastFrame);
        frame.resize(wire::build_arp(frame, kOwn.mac, {packet.sender_mac, packet.sender_ip, {}}, packet));
        host.receive(frame, now);
    }
    void answer(const MacAddress& mac = kPeer.mac) {
        hear({ArpOperation::reply, mac, kPeer.ip, kOwn.mac, kOwn.ip});
    }
    std::vector<Sent> take() { return std::exchange(sent, {}); }

    ArpHost host{kOwn};
    ArpHost::Time now{seconds(1000)};
    std::vector<Sent> sent;
};

TEST_F(ArpHostTest, RequestsForOurAddressAreAnswered) {
    hear({ArpOperation::request, kPeer.mac, kPeer.ip, {}, kOwn.ip});
    run(seconds(10));
    const auto frames = take();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].to, kPeer.mac);
    EXPECT_EQ(frames[0].packet, (ArpPacket{ArpOperation::reply, kOwn.mac, kOwn.ip, kPeer.mac, kPeer.ip}));
    EXPECT_FALSE(host.find(kPeer.ip)) << "nobody asked for this host";
    // Another host checks whether the address is free.
    hear({ArpOperation::request, kPeer.mac, {}, {}, kOwn.ip});
    run(seconds(10));
    EXPECT_EQ(take().size(), 1U);
}

TEST_F(ArpHostTest, OtherRequestsAreNot) {
    hear({ArpOperation::request, kPeer.mac, kPeer.ip, {}, {0x0A090002}});
    hear({ArpOperation::reply, kPeer.mac, kPeer.ip, kOwn.mac, kOwn.ip});
    hear({ArpOperation::request, kOwn.mac, kOwn.ip, {}, kOwn.ip});
    host.receive(Frame(60), now);
    run(seconds(10));
    EXPECT_TRUE(take().empty());
}

TEST_F(ArpHostTest, WithoutAnAddressNothingIsAnswered) {
    host = ArpHost({kOwn.mac, {}, {}});
    host.announce();
    hear({ArpOperation::request, kPeer.mac, kPeer.ip, {}, {}});
    run(seconds(10));
    EXPECT_TRUE(take().empty());
}

TEST_F(ArpHostTest, AFloodOfRequestsIsAnsweredInPart) {
    for (unsigned i = 0; i < 100; i++)
        hear({ArpOperation::request, kPeer.mac, kPeer.ip, {}, kOwn.ip});
    run(milliseconds(0));
    EXPECT_EQ(take().size(), ArpHost::kAnswersPerStep);
    EXPECT_EQ(host.unanswered(), 100 - ArpHost::kAnswersPerStep);
}

TEST_F(ArpHostTest, TheAddressIsAnnouncedTwice) {
    host.announce();
    run(seconds(60));
    const auto frames = take();
    ASSERT_EQ(frames.size(), ArpHost::kAnnouncements);
    EXPECT_EQ(frames[0].to, wire::kBroadcastMac);
    EXPECT_EQ(frames[0].packet, (ArpPacket{ArpOperation::request, kOwn.mac, kOwn.ip, {}, kOwn.ip}));
    EXPECT_EQ(frames[1].time - frames[0].time, ArpHost::kAnnounceInterval);
    EXPECT_EQ(host.next(), ArpHost::Time::max());
}

TEST_F(ArpHostTest, AHostIsAskedForUntilItAnswers) {
    host.resolve(kPeer.ip);
    host.resolve(kPeer.ip);
    run(milliseconds(2500));
    auto frames = take();
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].to, wire::kBroadcastMac);
    EXPECT_EQ(frames[0].packet, (ArpPacket{ArpOperation::request, kOwn.mac, kOwn.ip, {}, kPeer.ip}));
    EXPECT_EQ(host.tries(kPeer.ip), 3U);
    EXPECT_FALSE(host.find(kPeer.ip));
    run(seconds(60));
    frames = take();
    EXPECT_GE(frames.size(), 11U) << "slower, but for ever";
    EXPECT_LE(frames.size(), 13U);
    answer();
    EXPECT_EQ(host.find(kPeer.ip), kPeer.mac);
    EXPECT_EQ(host.tries(kPeer.ip), 0U);
    run(milliseconds(10));
    EXPECT_TRUE(take().empty());
}

TEST_F(ArpHostTest, AnOldAnswerIsAskedForAgainAndForgotten) {
    host.resolve(kPeer.ip);
    run(milliseconds(0));
    answer();
    take();
    run(ArpHost::kRefresh);
    auto frames = take();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].to, kPeer.mac) << "first the host alone";
    answer();
    run(ArpHost::kRefresh);
    EXPECT_EQ(take().size(), 1U);
    run(milliseconds(2500));
    frames = take();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].to, wire::kBroadcastMac);
    EXPECT_EQ(host.find(kPeer.ip), kPeer.mac) << "in use until it is certain";
    run(milliseconds(1000));
    EXPECT_FALSE(host.find(kPeer.ip));
    answer(kOtherMac);
    EXPECT_EQ(host.find(kPeer.ip), kOtherMac);
}

TEST_F(ArpHostTest, AnAnnouncementTellsOfANewMacAddress) {
    host.resolve(kPeer.ip);
    run(milliseconds(0));
    answer();
    hear({ArpOperation::request, kOtherMac, kPeer.ip, {}, kPeer.ip});
    EXPECT_EQ(host.find(kPeer.ip), kOtherMac);
}

TEST_F(ArpHostTest, AnotherHostWithOurAddressIsNoticed) {
    EXPECT_FALSE(host.conflict());
    hear({ArpOperation::reply, kPeer.mac, kOwn.ip, kOtherMac, {0x0A090007}});
    EXPECT_EQ(host.conflict(), kPeer.mac);
}

}  // namespace
}  // namespace spead::port
