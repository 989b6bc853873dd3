// SPDX-License-Identifier: BSD-3-Clause
#include "recv/distributor.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"
#include "tests/support/fragments.hpp"

namespace spead::recv::test {
namespace {

using testing::ElementsAre;

/// Returns a packet that is a whole heap.
Bytes packet(std::uint64_t count, const Way& way = {}, std::size_t payload = 32) {
    wire::test::Packet p;
    p.payload.assign(payload, static_cast<std::uint8_t>(count));
    return frame(p.specials(count, payload, 0).build(), way);
}

class DistributorTest : public ::testing::Test {
  protected:
    ~DistributorTest() override {
        distributor.reset();
        EXPECT_EQ(pool.in_use(), rx.waiting()) << "whatever was on its way has been freed";
    }

    void spread_over(std::size_t others, std::vector<std::uint16_t> destinations, const Way& way = {},
                     const std::optional<wire::PacketFormat>& format = {}) {
        distributor = std::make_unique<Distributor>(others);
        distributor->table().add({{way.to}, way.port, {}}, std::move(destinations),
                                 format ? std::make_shared<FormatDecoder>(*format) : nullptr);
        distributor->connect(rx.queue());
    }

    /// Returns the first payload byte of each packet of one burst, and frees the packets.
    static std::vector<unsigned> take(port::RxQueue queue, std::uint16_t max = 64) {
        std::vector<rte_mbuf*> mbufs(max);
        const std::uint16_t n = queue.rx_burst(mbufs.data(), max);
        std::vector<unsigned> counts;
        for (std::uint16_t i = 0; i < n; i++) {
            std::uint8_t last = 0;
            counts.push_back(*static_cast<const std::uint8_t*>(
                rte_pktmbuf_read(mbufs[i], rte_pktmbuf_pkt_len(mbufs[i]) - 1, 1, &last)));
            rte_pktmbuf_free(mbufs[i]);
        }
        return counts;
    }

    Pool pool{4095};
    FakeRx rx{pool};
    std::unique_ptr<Distributor> distributor;
};

TEST_F(DistributorTest, PassesFragmentsToTheLcoreThatPutsThemTogether) {
    const Bytes whole = packet(7, {}, 4000);
    for (const std::uint16_t to : {std::uint16_t{0}, std::uint16_t{2}, std::uint16_t{1}}) {
        spread_over(2, {0, 1, 2});
        distributor->table().pass_fragments_to(to);
        std::size_t sent = 0;
        for (std::uint32_t id = 0; id < 5; id++)
            for (const Bytes& piece : spead::test::fragments_of(whole, id, 1000)) {
                rx.add(piece);
                sent++;
            }
        rx.add(packet(0));
        std::array<std::size_t, 3> came{};
        while (rx.waiting() != 0)
            came[0] += take(distributor->own()).size();
        for (std::size_t other = 0; other < 2; other++)
            came[other + 1] += take(distributor->share(other)).size();
        EXPECT_GE(came[to], sent);
        EXPECT_EQ(came[0] + came[1] + came[2], sent + 1);
    }
}

/// Copies of a packet may differ in what is before the header, in other fields, and in the payload.
TEST_F(DistributorTest, PassesPacketsOfAFormatOnByTheDeclaredCount) {
    const auto format = wire::PacketFormat::parse(
        "prefix 8; header 8; field kind: u8 at 0; field time: u16 at 2; require kind = 7; count time");
    spread_over(2, {0, 1, 2}, {}, format);
    std::array<std::map<unsigned, int>, 3> expected;
    std::array<std::map<unsigned, int>, 3> seen;
    const auto drain = [&] {
        while (rx.waiting() != 0)
            for (const unsigned n : take(distributor->own()))
                seen[0][n]++;
        for (std::size_t other = 0; other < 2; other++)
            for (const unsigned n : take(distributor->share(other)))
                seen[other + 1][n]++;
    };
    for (unsigned repeat = 0; repeat < 3; repeat++) {
        for (unsigned n = 0; n < 60; n++) {
            Bytes datagram(40, static_cast<std::uint8_t>(n));
            std::fill_n(datagram.begin(), 8, static_cast<std::uint8_t>(n * 3 + repeat));
            datagram[8] = 7;
            datagram[10] = 0;
            datagram[15] = static_cast<std::uint8_t>(repeat);
            const Bytes f = frame(datagram, {});
            if (repeat == 2)
                rx.add(rx.chain(f, {wire::kNetHeader + 3, 8}));
            else
                rx.add(f);
            expected[Distributor::share_of(n, 3)][n]++;
        }
        drain();
    }
    EXPECT_EQ(seen, expected);
}

TEST_F(DistributorTest, WhatIsNotOfTheFormatGoesToTheFirstLcoreOfItsEndpoint) {
    spread_over(2, {1, 2}, {},
                wire::PacketFormat::parse("header 8; field kind: u8 at 0; require kind = 7; count kind"));
    rx.add(frame(Bytes(40, 9), {}));
    rx.add(frame({7}, {}));
    rx.add(packet(9));
    rx.add(rx.chain(frame(Bytes(40, 9), {}), {wire::kNetHeader + 2}));
    EXPECT_THAT(take(distributor->own()), ElementsAre());
    EXPECT_EQ(take(distributor->share(0)).size(), 4U);
}

TEST_F(DistributorTest, PassesHeapsOnByTheirCountAndKeepsOrder) {
    spread_over(2, {0, 1, 2});
    std::map<std::size_t, std::vector<unsigned>> expected;
    for (unsigned count = 1; count <= 60; count++) {
        rx.add(packet(count));
        expected[Distributor::share_of(count, 3)].push_back(count);
    }
    EXPECT_EQ(take(distributor->own()), expected[0]);
    EXPECT_TRUE(distributor->take_moved());
    EXPECT_FALSE(distributor->take_moved());
    EXPECT_EQ(take(distributor->share(0)), expected[1]);
    EXPECT_EQ(take(distributor->share(1)), expected[2]);
    EXPECT_EQ(distributor->on_their_way(), 0U);
}

TEST_F(DistributorTest, AnEndpointOfOneOtherLcoreGoesThereWhole) {
    spread_over(2, {2});
    rx.add(packet(1));
    rx.add(packet(2));
    EXPECT_THAT(take(distributor->own()), ElementsAre());
    EXPECT_TRUE(distributor->take_moved()) << "the lcore was not idle";
    EXPECT_THAT(take(distributor->share(0)), ElementsAre());
    EXPECT_THAT(take(distributor->share(1)), ElementsAre(1, 2));
}

TEST_F(DistributorTest, WhatBelongsToNobodyStaysWithThePoller) {
    spread_over(1, {1});
    Way other;
    other.port = 9;
    rx.add(packet(7, other));
    rx.add(Bytes{1, 2, 3});
    rx.add(Bytes(64, 0xFF));
    EXPECT_EQ(take(distributor->own()).size(), 3U);
    EXPECT_THAT(take(distributor->share(0)), ElementsAre());
}

TEST_F(DistributorTest, ABrokenSpeadHeaderGoesToTheFirstLcoreOfItsEndpoint) {
    spread_over(2, {1, 2});
    Bytes broken = packet(9);
    broken[wire::kNetHeader] = 0;  // the magic number
    rx.add(broken);
    rx.add(frame({}));
    EXPECT_THAT(take(distributor->own()), ElementsAre());
    EXPECT_EQ(take(distributor->share(0)).size(), 2U);
}

TEST_F(DistributorTest, LooksIntoPacketsInSegmentsSplitAnywhere) {
    spread_over(2, {0, 1, 2});
    for (unsigned count = 1; count <= 8; count++) {
        const Bytes whole = packet(count);
        for (std::size_t at = 1; at < whole.size(); at++)
            rx.add(rx.chain(whole, {at, 1}));
        const std::size_t to = Distributor::share_of(count, 3);
        std::size_t came = 0;
        for (int burst = 0; burst < 3; burst++) {
            const std::vector<unsigned> own = take(distributor->own());
            const std::vector<unsigned> got = to == 0 ? own : take(distributor->share(to - 1));
            came += got.size();
            for (const unsigned c : got)
                EXPECT_EQ(c, count);
        }
        EXPECT_EQ(came, whole.size() - 1);
    }
}

TEST_F(DistributorTest, AnEndpointThatIsAddedGetsItsSourceFromOneThatHadIt) {
    spread_over(2, {1});
    rx.add(packet(1));
    take(distributor->own());
    EXPECT_THAT(take(distributor->share(0)), ElementsAre(1));
    const Way way;
    distributor->table().add({{way.to}, way.port, {way.from}}, {2});
    rx.add(packet(2));
    take(distributor->own());
    EXPECT_THAT(take(distributor->share(0)), ElementsAre());
    EXPECT_THAT(take(distributor->share(1)), ElementsAre(2));
}

/// Compares with the parsers: packets of a few shapes by turns, some broken, of endpoints with and without a
/// source.
TEST_F(DistributorTest, SpreadsAnyPacketAsTheParsersSay) {
    const std::vector<std::vector<std::uint16_t>> ways{{0, 1, 2}, {2}, {1, 0}};
    const std::vector<Endpoint> endpoints{
        {{0xEF010203}, 7148, {}}, {{0xEF010203}, 7148, {0x0A000009}}, {{0xEF010204}, 7148, {}}};
    distributor = std::make_unique<Distributor>(2);
    distributor->connect(rx.queue());
    Classifier classifier;
    for (std::size_t i = 0; i < endpoints.size(); i++) {
        distributor->table().add(endpoints[i], ways[i]);
        classifier.add(endpoints[i], {static_cast<std::uint16_t>(i), 0});
    }
    const auto destination = [&](const Bytes& f) -> std::size_t {
        wire::UdpView udp;
        if (wire::parse_udp(f.data(), f.size(), f.size(), false, udp) != PortOutcome::stream)
            return 0;
        const Target* const target = classifier.find(udp.dst_ip, udp.dst_port, udp.src_ip);
        if (target == nullptr)
            return 0;
        const auto judged = judge(f.data(), f.size(), false, classifier, UINT32_MAX);
        const std::vector<std::uint16_t>& to = ways[target->lane];
        return judged ? to[Distributor::share_of(judged->view.key, to.size())] : to.front();
    };
    const auto take_frames = [](port::RxQueue queue) {
        std::array<rte_mbuf*, 64> mbufs;
        std::vector<Bytes> frames(queue.rx_burst(mbufs.data(), 64));
        for (std::size_t i = 0; i < frames.size(); i++) {
            Bytes& f = frames[i];
            f.resize(rte_pktmbuf_pkt_len(mbufs[i]));
            if (const void* const at =
                    rte_pktmbuf_read(mbufs[i], 0, static_cast<std::uint32_t>(f.size()), f.data());
                at != f.data())
                std::memcpy(f.data(), at, f.size());
            rte_pktmbuf_free(mbufs[i]);
        }
        return frames;
    };

    Random random(7);
    std::vector<wire::test::Packet> shapes;
    for (int i = 0; i < 3; i++)
        shapes.push_back(any_packet(random, false));
    for (int burst = 0; burst < 400; burst++) {
        std::vector<std::vector<Bytes>> expected(3);
        shapes[random() % shapes.size()] = any_packet(random);
        for (int i = 0; i < 64; i++) {
            Way way;
            way.to += random() % 3;
            way.from = random() % 2 == 0 ? 0x0A000009 : 0x0A000000 + random() % 16;
            if (random() % 16 == 0)
                way.tags = {0x8100};
            Bytes f = frame(shapes[random() % shapes.size()].build(), way);
            if (random() % 8 == 0)
                f[random() % f.size()] ^= static_cast<std::uint8_t>(1U << random() % 8);
            if (random() % 32 == 0)
                f.resize(random() % f.size() + 1);
            expected[destination(f)].push_back(f);
            if (random() % 8 == 0)
                rx.add(rx.chain(f, {random() % f.size()}));
            else
                rx.add(f);
        }
        ASSERT_EQ(take_frames(distributor->own()), expected[0]) << "burst " << burst;
        ASSERT_EQ(take_frames(distributor->share(0)), expected[1]) << "burst " << burst;
        ASSERT_EQ(take_frames(distributor->share(1)), expected[2]) << "burst " << burst;
    }
}

TEST_F(DistributorTest, AFullRingHoldsTheQueueUpAndLosesNothing) {
    spread_over(1, {1});
    constexpr unsigned kPackets = 2000;
    std::vector<unsigned> expected;
    for (unsigned count = 0; count < kPackets; count++) {
        rx.add(packet(count));
        expected.push_back(count & 0xFF);
    }
    for (int i = 0; i < 100; i++)
        take(distributor->own());
    EXPECT_GE(rx.waiting(), kPackets - Distributor::kRingEntries - Distributor::kBurst)
        << "not polled meanwhile";
    EXPECT_GT(distributor->on_their_way(), 0U);

    std::vector<unsigned> came;
    while (came.size() < kPackets) {
        const std::vector<unsigned> burst = take(distributor->share(0), 48);
        came.insert(came.end(), burst.begin(), burst.end());
        take(distributor->own());
        ASSERT_FALSE(burst.empty());
    }
    EXPECT_EQ(came, expected);
    EXPECT_EQ(distributor->on_their_way(), 0U);
}

TEST_F(DistributorTest, AClosedOneTakesNothingMoreButPassesOnWhatWaits) {
    spread_over(1, {1});
    for (unsigned count = 0; count < 1300; count++)
        rx.add(packet(count));
    for (int i = 0; i < 30; i++)
        take(distributor->own());
    distributor->close();
    const std::size_t left = rx.waiting();
    std::size_t came = 0;
    while (distributor->on_their_way() != 0) {
        came += take(distributor->share(0)).size();
        take(distributor->own());
    }
    EXPECT_EQ(came, 1300 - left);
    EXPECT_EQ(rx.waiting(), left);
}

TEST_F(DistributorTest, FreesWhatNobodyTook) {
    spread_over(1, {1});
    for (unsigned count = 0; count < 1200; count++)
        rx.add(packet(count));
    for (int i = 0; i < 30; i++)
        take(distributor->own());
}

TEST(ShareOf, DistributesEveryWayOfCountingEvenly) {
    for (std::size_t n = 1; n <= 9; n++)
        for (const std::uint64_t step : {1, 2, 3, 4, 8, 64, 1024})
            for (const std::uint64_t first : {std::uint64_t{1}, std::uint64_t{1} << 40}) {
                std::vector<unsigned> heaps(n);
                for (std::uint64_t i = 0; i < 9000; i++)
                    heaps.at(Distributor::share_of(first + i * step, n))++;
                for (const unsigned h : heaps)
                    EXPECT_NEAR(h, 9000.0 / static_cast<double>(n), 9000.0 / static_cast<double>(n) * 0.1)
                        << n << " lcores, counting by " << step;
            }
}

}  // namespace
}  // namespace spead::recv::test
