// SPDX-License-Identifier: BSD-3-Clause
#include "port/ndp_host.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace spead::port::ndp_host_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::NdpPacket;
using wire::NdpType;

constexpr MacAddress kMac{2, 0, 0, 0, 0, 1};
constexpr MacAddress kPeerMac{2, 0, 0, 0, 0, 9};
constexpr MacAddress kOtherMac{2, 0, 0, 0, 0, 10};
constexpr wire::LinkAddress kOwn{kMac, {}, {}, wire::link_local_of(kMac)};
constexpr Ipv6 kOurs{0xFD00000900000000, 1};
constexpr Ipv6 kPeer{0xFD00000900000000, 9};

struct Sent {
    NdpHost::Time time;
    MacAddress to;
    NdpPacket packet;
};

class NdpHostTest : public ::testing::Test {
  protected:
    void run(milliseconds d) {
        const auto end = now + d;
        for (;;) {
            for (const Frame& frame : host.step(now)) {
                const auto packet = wire::parse_ndp(frame, {});
                ASSERT_TRUE(packet);
                EXPECT_EQ(packet->sender_mac, kMac);
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
    void hear(const NdpPacket& packet) {
        Frame frame(wire::kNdpRoom);
        frame.resize(wire::build_ndp(frame, kMac, {packet.sender_mac, {}, {}, {}}, packet));
        host.receive(frame, now);
    }
    void solicit(const Ipv6& target, const Ipv6& from = kPeer) {
        NdpPacket packet;
        packet.from = from;
        packet.to = wire::solicited_node(target);
        packet.target = target;
        packet.sender_mac = kPeerMac;
        if (!wire::is_unspecified(from))
            packet.mac = kPeerMac;
        hear(packet);
    }
    NdpPacket advertisement(const MacAddress& mac = kPeerMac) const {
        NdpPacket packet;
        packet.type = NdpType::advertisement;
        packet.from = packet.target = kPeer;
        packet.to = kOurs;
        packet.mac = packet.sender_mac = mac;
        packet.solicited = packet.replaces = true;
        return packet;
    }
    std::vector<Sent> take() { return std::exchange(sent, {}); }

    NdpHost host{kOwn, kOurs};
    NdpHost::Time now{seconds(1000)};
    std::vector<Sent> sent;
};

TEST_F(NdpHostTest, SolicitationsForOurAddressesAreAnswered) {
    for (const Ipv6& ours : {kOurs, kOwn.link_local}) {
        solicit(ours);
        run(seconds(10));
        const auto frames = take();
        ASSERT_EQ(frames.size(), 1U);
        EXPECT_EQ(frames[0].to, kPeerMac);
        EXPECT_EQ(frames[0].packet.type, NdpType::advertisement);
        EXPECT_EQ(frames[0].packet.from, ours);
        EXPECT_EQ(frames[0].packet.to, kPeer);
        EXPECT_EQ(frames[0].packet.target, ours);
        EXPECT_EQ(frames[0].packet.mac, kMac);
        EXPECT_TRUE(frames[0].packet.solicited);
        EXPECT_TRUE(frames[0].packet.replaces);
        EXPECT_FALSE(frames[0].packet.router);
    }
    EXPECT_FALSE(host.find(kPeer)) << "nobody asked for this host";
}

TEST_F(NdpHostTest, OtherSolicitationsAreNot) {
    solicit(kPeer);
    solicit({0xFD00000900000001, 1});
    hear(advertisement());
    host.receive(Frame(60), now);
    run(seconds(10));
    EXPECT_TRUE(take().empty());
    EXPECT_FALSE(host.conflict());
}

TEST_F(NdpHostTest, AHostThatAsksWhetherOurAddressIsTakenIsTold) {
    solicit(kOurs, {});
    EXPECT_EQ(host.conflict(), kPeerMac);
    run(seconds(10));
    const auto frames = take();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].to, wire::multicast_mac6(wire::kAllNodes));
    EXPECT_EQ(frames[0].packet.to, wire::kAllNodes);
    EXPECT_FALSE(frames[0].packet.solicited);
}

TEST_F(NdpHostTest, OurAddressesAreAskedForAndThenAnnounced) {
    host.announce();
    run(seconds(60));
    const auto frames = take();
    ASSERT_EQ(frames.size(), 2 * (1 + NdpHost::kAnnouncements));
    EXPECT_EQ(frames[1].packet.type, NdpType::solicitation);
    EXPECT_TRUE(wire::is_unspecified(frames[1].packet.from));
    EXPECT_EQ(frames[1].packet.target, kOurs);
    EXPECT_EQ(frames[1].packet.to, wire::solicited_node(kOurs));
    EXPECT_FALSE(frames[1].packet.mac);
    EXPECT_EQ(frames[3].packet.type, NdpType::advertisement);
    EXPECT_EQ(frames[3].packet.target, kOurs);
    EXPECT_EQ(frames[3].packet.to, wire::kAllNodes);
    EXPECT_EQ(frames[3].time - frames[1].time, NdpHost::kProbeTime);
    EXPECT_EQ(frames[5].time - frames[3].time, NdpHost::kAnnounceInterval);
    EXPECT_EQ(host.next(), NdpHost::Time::max());
    EXPECT_FALSE(host.conflict());
}

TEST_F(NdpHostTest, AnotherHostWithOurAddressIsNoticed) {
    NdpPacket packet = advertisement();
    packet.from = packet.target = kOurs;
    packet.to = wire::kAllNodes;
    packet.solicited = false;
    hear(packet);
    EXPECT_EQ(host.conflict(), kPeerMac);
}

TEST_F(NdpHostTest, OurOwnFramesThatComeBackAreIgnored) {
    NdpPacket packet = advertisement(kMac);
    packet.from = packet.target = kOurs;
    hear(packet);
    EXPECT_FALSE(host.conflict());
}

TEST_F(NdpHostTest, AHostIsAskedForUntilItAnswers) {
    host.resolve(kPeer);
    host.resolve(kPeer);
    run(milliseconds(2500));
    const auto frames = take();
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0].to, wire::multicast_mac6(wire::solicited_node(kPeer)));
    EXPECT_EQ(frames[0].packet.from, kOurs);
    EXPECT_EQ(frames[0].packet.target, kPeer);
    EXPECT_EQ(frames[0].packet.mac, kMac);
    EXPECT_FALSE(host.find(kPeer));
    EXPECT_EQ(host.tries(kPeer), 3U);
    hear(advertisement());
    EXPECT_EQ(host.find(kPeer), kPeerMac);
    run(milliseconds(10));
    EXPECT_TRUE(take().empty());
}

TEST_F(NdpHostTest, ALinkLocalHostIsAskedFromOurLinkLocalAddress) {
    host.resolve({0xFE80000000000000, 9});
    run(milliseconds(0));
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].packet.from, kOwn.link_local);
    host = NdpHost(kOwn, {});
    host.resolve(kPeer);
    run(milliseconds(1));
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1].packet.from, kOwn.link_local) << "there is no other";
}

TEST_F(NdpHostTest, AnOldAnswerIsAskedForAgainAtTheHostAlone) {
    host.resolve(kPeer);
    run(milliseconds(0));
    hear(advertisement());
    take();
    run(NdpHost::kRefresh);
    auto frames = take();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].to, kPeerMac);
    EXPECT_EQ(frames[0].packet.to, kPeer);
    // An answer to us alone may leave the MAC address out.
    NdpPacket brief = advertisement();
    brief.mac.reset();
    brief.replaces = false;
    hear(brief);
    run(NdpHost::kRefresh);
    EXPECT_EQ(take().size(), 1U);
    run(milliseconds(3500));
    frames = take();
    EXPECT_EQ(frames.back().to, wire::multicast_mac6(wire::solicited_node(kPeer)));
    EXPECT_FALSE(host.find(kPeer)) << "it does not answer any more";
}

TEST_F(NdpHostTest, OnlyWhatReplacesTakesOverAKnownHost) {
    host.resolve(kPeer);
    run(milliseconds(0));
    NdpPacket first = advertisement();
    first.replaces = false;
    hear(first);
    EXPECT_EQ(host.find(kPeer), kPeerMac) << "nothing was known";
    NdpPacket other = advertisement(kOtherMac);
    other.replaces = false;
    hear(other);
    EXPECT_EQ(host.find(kPeer), kPeerMac);
    other.replaces = true;
    other.solicited = false;
    other.to = wire::kAllNodes;
    hear(other);
    EXPECT_EQ(host.find(kPeer), kOtherMac) << "an announcement";
    solicit(kOurs);
    EXPECT_EQ(host.find(kPeer), kPeerMac) << "and a question of it";
}

TEST_F(NdpHostTest, ASolicitationToAnotherHostTellsNothingOfItsSender) {
    host.resolve(kPeer);
    run(milliseconds(0));
    hear(advertisement(kOtherMac));
    solicit({0xFD00000900000000, 77});
    EXPECT_EQ(host.find(kPeer), kOtherMac);
}

TEST_F(NdpHostTest, AnAddressThatWasNotAskedForIsAskedForSoon) {
    host.resolve(kPeer);
    run(milliseconds(0));
    hear(advertisement());
    NdpPacket other = advertisement(kOtherMac);
    other.solicited = false;
    other.to = wire::kAllNodes;
    hear(other);
    run(NdpHost::kUnasked - milliseconds(1));
    take();
    run(milliseconds(1));
    std::vector<Sent> frames = take();
    ASSERT_EQ(frames.size(), 1U) << "an announcement";
    EXPECT_EQ(frames[0].to, kOtherMac);
    hear(advertisement());
    solicit(kOurs);
    run(NdpHost::kUnasked - milliseconds(1));
    take();
    run(milliseconds(1));
    frames = take();
    ASSERT_EQ(frames.size(), 1U) << "a question of it";
    EXPECT_EQ(frames[0].to, kPeerMac);
}

TEST_F(NdpHostTest, AFloodOfSolicitationsIsAnsweredInPart) {
    for (unsigned i = 0; i < 100; i++)
        solicit(kOurs);
    run(milliseconds(0));
    EXPECT_EQ(take().size(), NdpHost::kAnswersPerStep);
    EXPECT_EQ(host.unanswered(), 100 - NdpHost::kAnswersPerStep);
}

}  // namespace
}  // namespace spead::port::ndp_host_test
