// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <rte_ip.h>

#include "tests/eal/recv/gather_sending.hpp"
#include "tests/eal/recv/splitter.hpp"
#include "wire/net.hpp"

/// Tests packets whose payload a port put into an engine's memory: a byte of it that the CPU reads ends the
/// test's process.
namespace spead::recv::test {
namespace {

/// Returns the length of a frame's headers: all of its bytes before the payload.
std::size_t headers_of(const MadeHeap& h) {
    return h.frames()[0].size() - std::min<std::size_t>(h.packet, h.length);
}

TEST(GatherSplit, AnyCutAfterTheHeadersIsRight) {
    GatherRig rig(4);
    Splitter sending(rig);
    MadeHeap h{.length = 150, .packet = 90};
    const std::size_t first = std::max(wire::kMaxNetHeader, headers_of(h));
    const std::size_t frame = h.frames()[0].size();
    for (std::size_t cut = first; cut <= frame + 1; cut++) {
        h.cnt = cut;
        for (const Bytes& f : h.frames())
            ASSERT_NO_FATAL_FAILURE(sending.send(f, cut));
    }
    rig.poll_until(sending.sent);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), frame + 2 - first);
    for (const Taken& t : heaps) {
        h.cnt = t.cnt;
        ASSERT_TRUE(is_whole(t, h));
    }
    EXPECT_GT(rig.source.counters.multi_segment, 0U);
    EXPECT_LT(rig.source.counters.multi_segment, sending.sent) << "short packets are not cut";
}

TEST(GatherSplit, ManyItemsBeforeTheCutAreKept) {
    GatherRig rig;
    Splitter sending(rig);
    MadeHeap h{.cnt = 5, .length = 4000, .packet = 1000};
    for (std::uint64_t i = 0; i < 60; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    for (const Bytes& f : h.frames())
        ASSERT_NO_FATAL_FAILURE(sending.send(f, headers_of(h)));
    rig.poll_until(sending.sent);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
    EXPECT_EQ(heaps[0].items.size(), 60U);
}

/// Returns a rig whose port cuts its packets.
std::unique_ptr<GatherRig> split_rig(std::uint32_t at) {
    return std::make_unique<GatherRig>(8, GatherRig::with_records(lane_config("s0", one_group())), at);
}

TEST(GatherSplit, HeadersThatGoOnInDeviceMemoryAreCountedWithTheirLength) {
    const auto rig = split_rig(138);
    Sending sending(*rig);
    MadeHeap h{.cnt = 1, .length = 4000, .packet = 1000};
    sending.send(h.frames()[0]);
    for (std::uint64_t i = 0; i < 60; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    const std::size_t longest = headers_of(h);
    for (const std::size_t items : {60UL, 9UL, 30UL, 8UL}) {
        h.cnt++;
        h.items.resize(std::min(h.items.size(), items));
        for (std::uint64_t i = h.items.size(); i < items; i++)
            h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
        for (const Bytes& f : h.frames())
            sending.send(f);
    }
    rig->poll_until(sending.sent);
    // 42 + 8 + 8 x (4 + 8) are more than 138, too.
    EXPECT_EQ(rig->count(PacketOutcome::header_in_device), 4U);
    EXPECT_EQ(rig->lane->counters.longest_header, longest);
    EXPECT_EQ(rig->lane->counters.cut_sources.sorted()[0].count, 4U);
    EXPECT_EQ(rig->count(PacketOutcome::placed), sending.sent - 4);
    EXPECT_EQ(rig->lane->unplaced[0].all, 4U);
    EXPECT_TRUE(stats::broken_identities(rig->picture()).empty());
}

TEST(GatherSplit, WhatIsNoStreamsIsRefusedByItsHeadersAlone) {
    const auto rig = split_rig(134);
    Sending sending(*rig);
    Bytes other = MadeHeap{.cnt = 1, .length = 500, .packet = 500}.frames()[0];
    other[12] = 0x12;  // an ethertype of nobody
    sending.send(other);
    sending.send(Bytes(600));
    wire::test::Packet fragment;
    fragment.payload.resize(500);
    fragment.specials(1, 500, 0);
    Bytes first = frame(fragment.build());
    first[20] |= 0x20;  // more fragments
    rte_ipv4_hdr* const ip = reinterpret_cast<rte_ipv4_hdr*>(first.data() + wire::kEthernetHeader);
    ip->hdr_checksum = 0;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    sending.send(first);
    rig->poll_until(3);
    EXPECT_EQ(rig->source.counters[PortOutcome::not_udp], 2U);
    EXPECT_EQ(rig->source.counters[PortOutcome::fragment], 1U);
}

TEST(GatherSplit, HeapsWithManyHolesAreFilled) {
    const auto rig = split_rig(138);
    Sending sending(*rig);
    const MadeHeap h{.cnt = 3, .length = 40'000, .packet = 1000};
    const std::vector<Bytes> frames = h.frames();
    for (std::size_t i = 0; i < frames.size(); i += 2)
        sending.send(frames[i]);
    rig->poll_until(sending.sent);
    for (std::size_t i = 1; i < frames.size(); i += 2)
        sending.send(frames[i]);
    const MadeHeap holes{.cnt = 4, .length = 40'000, .packet = 1000};
    for (std::size_t i = 0; i < frames.size(); i += 2)
        sending.send(holes.frames()[i]);
    rig->poll_until(sending.sent);
    rig->settle();
    rig->end();
    const std::vector<Taken> heaps = rig->take();
    ASSERT_EQ(heaps.size(), 2U);
    EXPECT_TRUE(is_whole(heaps[0], h));
    EXPECT_EQ(heaps[1].missing.size(), 20U);
}

TEST(GatherSplit, PacketsWaitInThePortWhileAnEngineHasItsMbufs) {
    const auto rig = split_rig(138);
    rig->engine->faults().stalls = true;
    const Sending sending(*rig);
    constexpr std::uint64_t kHeaps = 3000;
    std::uint64_t sent = 0;
    // More than the engine may keep: the ring takes no more at last.
    while (sent < kHeaps && rte_mempool_avail_count(sending.pool().get()) > 64) {
        rte_mbuf* m =
            sending.pool().make(MadeHeap{.cnt = sent + 1, .length = 500, .packet = 500}.frames()[0]);
        if (rig->tx().tx_burst(&m, 1) == 0) {
            rte_pktmbuf_free(m);
            break;
        }
        sent++;
        rig->poll();
    }
    EXPECT_LT(rig->received(), kHeaps);
    EXPECT_GT(rig->source.counters.gather_full, 0U);
    rig->engine->faults().stalls = false;
    rig->poll_until(sent);
    rig->settle();
    EXPECT_EQ(rig->count(PacketOutcome::placed), sent);
    EXPECT_TRUE(sending.pool().full());
}

TEST(GatherSplit, ThePortClosesAlthoughAnEngineStandsStill) {
    const auto rig = split_rig(138);
    rig->engine->faults().stalls = true;
    Sending sending(*rig);
    for (std::uint64_t cnt = 1; cnt <= 100; cnt++)
        sending.send(MadeHeap{.cnt = cnt, .length = 500, .packet = 500}.frames()[0]);
    rig->poll_until(sending.sent);
    rig->now += 1'000'000;
    rig->poll();
    EXPECT_FALSE(rig->engine->stop(std::chrono::milliseconds(1)));
    rig->was_given_up = true;
    rig->agent.give_up_gathering();
    rig->end();
    EXPECT_EQ(rig->gathering->packets_lost(), 100U);
    EXPECT_EQ(rig->lane->counters.heaps_device_error, 100U);
    EXPECT_TRUE(sending.pool().full()) << "the sender's own came back: the port has copied them";
    rig->engine->faults().stalls = false;
    // Once it has finished, the packets come back before the port closes.
    EXPECT_TRUE(rig->engine->stop(std::chrono::seconds(20)));
}

TEST(GatherSplit, BothMbufsOfAPacketStayWithAnEngineThatIsBehind) {
    GatherRig rig(2);
    rig.engine->faults().stalls = true;
    Splitter sending(rig);
    constexpr std::uint64_t kHeaps = 100;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 500, .packet = 500}.frames()[0],
                                             wire::kMaxNetHeader));
    rig.poll_until(kHeaps);
    rig.now += 1'000'000;
    rig.poll();
    EXPECT_EQ(sending.in_use(), kHeaps);
    EXPECT_TRUE(rig.take().empty());
    rig.engine->faults().stalls = false;
    rig.settle();
    EXPECT_TRUE(sending.full());
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), kHeaps);
    for (std::uint64_t i = 0; i < kHeaps; i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 500}));
}

TEST(GatherSplit, BothMbufsComeBackFromAnEngineThatFails) {
    GatherRig rig;
    rig.engine->faults().fails_after = 1;
    Splitter sending(rig);
    constexpr std::uint64_t kHeaps = 1000;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 500, .packet = 500}.frames()[0],
                                             wire::kMaxNetHeader));
        rig.poll_until(sending.sent);
    }
    rig.settle();
    rig.end();
    const std::size_t whole = rig.take().size();
    EXPECT_EQ(rig.lane->counters.heaps_device_error, kHeaps - whole);
    EXPECT_GT(rig.lane->counters.heaps_device_error, 0U);
    EXPECT_TRUE(sending.full());
}

}  // namespace
}  // namespace spead::recv::test
