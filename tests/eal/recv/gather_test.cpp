// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/gather_sending.hpp"

/// Tests heaps in memory that the CPU may not touch, under the real agent: a byte that it reads or writes
/// there ends the test's process.
namespace spead::recv::test {
namespace {

using namespace std::chrono_literals;

/// Returns a heap that is small enough for every split, with two packets.
MadeHeap split_heap(std::uint64_t cnt) {
    const wire::Flavour flavour(48);
    return {.cnt = cnt,
            .length = 61,
            .packet = 37,
            .items = {flavour.make_address(0x1000, 0), flavour.make_immediate(0x1002, cnt)}};
}

TEST(Gather, APacketMayBeSplitAnywhere) {
    GatherRig rig(4);
    Sending sending(rig);
    std::vector<Taken> heaps;
    const std::size_t length = split_heap(1).frames()[0].size();
    std::uint64_t cnt = 0;
    for (std::size_t a = 0; a <= length; a++)
        for (const std::size_t b : {std::size_t{0}, std::size_t{1}, std::size_t{40}, length}) {
            const std::vector<Bytes> frames = split_heap(++cnt).frames();
            ASSERT_NO_FATAL_FAILURE(sending.send(frames[0], {a, b}));
            ASSERT_NO_FATAL_FAILURE(sending.send(frames[1], {a}));
            if (cnt % 32 == 0)
                rig.poll_until(sending.sent);
        }
    rig.poll_until(sending.sent);
    rig.settle();
    heaps = rig.take();
    ASSERT_EQ(heaps.size(), cnt);
    for (const Taken& t : heaps) {
        ASSERT_TRUE(is_whole(t, split_heap(t.cnt)));
        ASSERT_EQ(t.items.size(), 2U);
    }
    EXPECT_EQ(rig.count(PacketOutcome::placed), 2 * cnt);
}

TEST(Gather, PacketsOfManySegmentsCloseBatchesAndWaitForThem) {
    GatherRig rig(2);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    const MadeHeap h{.cnt = 1, .length = 60 * 500, .packet = 500};
    for (const Bytes& f : h.frames())
        ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(100, 5)));
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_LT(rig.received(), 60U) << "two batches have no room for 6060 pieces";
    EXPECT_GT(rig.received(), 2U);
    EXPECT_GT(rig.source.waiting.count, 0U) << "they are in order, and in no counter";
    rig.engine->faults().stalls = false;
    rig.poll_until(60);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
}

TEST(Gather, APacketInMoreSegmentsThanABatchHasPiecesIsMalformed) {
    GatherRig rig(2);
    Sending sending(rig);
    const Bytes f = MadeHeap{.cnt = 1, .length = 1000, .packet = 1000}.frames()[0];
    ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(Gathering::kMaxSegments - 1, 2)));
    ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(Gathering::kMaxSegments, 2)));
    rig.poll_until(2);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.source.counters[PortOutcome::malformed], 1U);
    rig.end();
}

TEST(Gather, ManyItemsAndHolesAreKeptOutsideOfTheHeapsMemory) {
    GatherRig rig;
    Sending sending(rig);
    MadeHeap h{.cnt = 5, .length = 100 * 100, .packet = 100};
    for (std::uint64_t i = 0; i < 60; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    const std::vector<Bytes> frames = h.frames();
    for (std::size_t i = 0; i < frames.size(); i += 2)
        ASSERT_NO_FATAL_FAILURE(sending.send(frames[i]));
    rig.poll_until(50);
    std::vector<Taken> heaps;
    rig.keep = &heaps;
    rig.end();
    for (Taken& t : rig.take())
        heaps.push_back(std::move(t));
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_EQ(heaps[0].items.size(), 60U);
    ASSERT_EQ(heaps[0].missing.size(), 50U);
    for (std::size_t i = 0; i < 9900; i += i % 100 == 99 ? 101 : 1)
        ASSERT_EQ(static_cast<std::uint8_t>(heaps[0].payload[i]), h.byte(i));
}

TEST(Gather, AStalledEngineCostsABoundedAmountAndNothingThatWasTaken) {
    constexpr std::size_t kBatches = 2;
    constexpr std::uint64_t kHeaps = 1000;
    GatherRig rig(kBatches);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0]));
    for (int i = 0; i < 300; i++)
        rig.poll();
    EXPECT_GE(rig.received(), (kBatches - 1) * gather::Batch::kMaxPackets);
    EXPECT_LE(rig.received(), kBatches * gather::Batch::kMaxPackets);
    EXPECT_GT(rig.source.counters.gather_full, 100U);
    EXPECT_TRUE(rig.take().empty());
    EXPECT_TRUE(rig.agent.is_gathering());
    EXPECT_EQ(sending.pool().in_use(), kHeaps) << "they wait in the port's queue";
    rig.engine->faults().stalls = false;
    rig.poll_until(kHeaps);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), kHeaps);
    for (std::uint64_t i = 0; i < heaps.size(); i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 100}));
}

TEST(Gather, AnEngineThatStandsStillIsGivenUpAndNothingIsUsedAgainThatItMayWrite) {
    // It outlives the rig, as its thread outlives the engine.
    const Pool pool(1023, 2048);
    std::weak_ptr<const memory::Region> memory;
    std::weak_ptr<const gather::Channel> batches;
    gather::FakeEngineFaults* faults = nullptr;
    std::vector<rte_mbuf*> kept;
    {
        GatherRig rig(4);
        rig.was_given_up = true;
        memory = rig.region;
        batches = rig.channel;
        faults = &rig.engine->faults();
        faults->stalls = true;
        for (std::uint64_t cnt = 1; cnt <= 300; cnt++)
            ASSERT_TRUE(port::test::send(
                rig.tx(), pool.make(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0])));
        for (int i = 0; i < 20; i++)
            rig.poll();
        ASSERT_EQ(rig.received(), 300U);
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_FALSE(rig.agent.flush());
        EXPECT_FALSE(rig.agent.finish_gathering(rig.now));
        rig.agent.give_up_gathering();
        EXPECT_TRUE(rig.agent.flush());
        EXPECT_EQ(rig.lane->counters.heaps_device_error, 300U);
        EXPECT_EQ(rig.gathering->packets_lost(), 300U) << "batches of 256, and of the rest";
        EXPECT_EQ(pool.in_use(), 300U);
        EXPECT_FALSE(rig.engine->stop(100ms));
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
        for (const gather::Batch& b : rig.channel->batches())
            for (std::uint32_t i = 0; i < b.packet_count; i++)
                kept.push_back(static_cast<rte_mbuf*>(b.packets[i]));
    }
    EXPECT_FALSE(memory.expired()) << "the engine may still write it";
    EXPECT_FALSE(batches.expired());
    faults->stalls = false;
    for (int i = 0; i < 20'000 && !(memory.expired() && batches.expired()); i++)
        std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(memory.expired()) << "it has ended after all";
    EXPECT_TRUE(batches.expired());
    for (rte_mbuf* const m : kept)
        rte_pktmbuf_free(m);
    EXPECT_EQ(kept.size(), 300U);
}

TEST(Gather, AnEngineThatFailsLosesItsLaterHeapsAndNoOthers) {
    const Way other{.to = 0xEF010204};
    GatherRig rig;
    rig.add_host_lane(other.to);
    rig.engine->faults().fails_after = 3;
    Sending sending(rig);
    const auto give = [&](std::uint64_t cnt) {
        for (const Way& way : {Way{}, other})
            for (const Bytes& f : MadeHeap{.cnt = cnt, .length = 1000}.frames(way))
                ASSERT_NO_FATAL_FAILURE(sending.send(f));
    };
    constexpr std::uint64_t kHeaps = 1000;
    std::vector<Taken> heaps;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        ASSERT_NO_FATAL_FAILURE(give(cnt));
        rig.poll_until(sending.sent);
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
    }
    rig.settle();
    rig.keep = &heaps;
    rig.end();
    for (Taken& t : rig.take())
        heaps.push_back(std::move(t));
    // 3 packets of each heap, 256 packets of a batch, or fewer.
    EXPECT_LE(heaps.size(), 3 * 256 / 3U);
    EXPECT_GE(heaps.size(), 1U);
    for (std::uint64_t i = 0; i < heaps.size(); i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 1000}));
    EXPECT_EQ(rig.lane->counters.heaps_device_error, kHeaps - heaps.size());
    EXPECT_EQ(rig.count(PacketOutcome::placed), 3 * kHeaps) << "packets are not to blame";
    EXPECT_NE(rig.channel->failure().find("batch 4 failed"), std::string::npos) << rig.channel->failure();
    EXPECT_TRUE(sending.pool().full());
    ASSERT_EQ(rig.of_host.size(), kHeaps);
    for (std::uint64_t i = 0; i < kHeaps; i++)
        ASSERT_TRUE(is_whole(rig.of_host[i], {.cnt = i + 1, .length = 1000}));
}

TEST(Gather, NothingComesBackWhileAFailedEngineMayStillWrite) {
    GatherRig rig;
    rig.engine->faults().fails_after = 0;
    rig.engine->faults().lingers = true;
    rig.engine->faults().stalls = true;  // until it has all of the first packets
    Sending sending(rig);
    const auto give = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t cnt = from; cnt < to; cnt++)
            ASSERT_NO_FATAL_FAILURE(
                sending.send(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0]));
        rig.poll_until(sending.sent);
    };
    ASSERT_NO_FATAL_FAILURE(give(1, 301));
    rig.ticks = 1'000'000;
    rig.poll();
    rig.engine->faults().stalls = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return rig.channel->has_failed(); }));
    rig.poll();
    EXPECT_EQ(sending.pool().in_use(), 300U);
    ASSERT_NO_FATAL_FAILURE(give(301, 401));
    EXPECT_EQ(sending.pool().in_use(), 300U) << "the engine gets no more";
    EXPECT_EQ(rig.lane->counters.heaps_waiting, 400U);
    EXPECT_EQ(rig.lane->counters.heaps_device_error, 0U);
    EXPECT_EQ(rig.lane->window.records_out(), 400U);
    rig.engine->faults().lingers = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return rig.lane->counters.heaps_waiting == 0; }));
    EXPECT_EQ(rig.lane->counters.heaps_device_error, 400U);
    EXPECT_EQ(rig.lane->window.records_out(), 0U);
    EXPECT_TRUE(sending.pool().full());
}

TEST(Gather, AnOldBatchGoesToTheEngineWithoutFurtherPackets) {
    GatherRig rig;
    Sending sending(rig);
    ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = 1, .length = 100, .packet = 100}.frames()[0]));
    rig.ticks = 1;
    rig.poll_until(1);
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_EQ(rig.channel->in_flight(), 0U);
    EXPECT_TRUE(rig.agent.is_gathering());
    rig.now += static_cast<std::uint64_t>(rte_get_tsc_hz() * Gathering::kCloseMicroseconds / 1'000'000);
    rig.poll();
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return !rig.agent.is_gathering(); }));
    rig.poll();
    EXPECT_EQ(rig.take().size(), 1U);
}

TEST(Gather, PacketsOfOtherStreamsGoBackToTheirPoolAtOnce) {
    const Way other{.to = 0xEF010204};
    GatherRig rig;
    rig.add_host_lane(other.to);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
        for (const Way& way : {Way{}, other})
            for (const Bytes& f : MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames(way))
                ASSERT_NO_FATAL_FAILURE(sending.send(f));
    rig.poll_until(80);
    EXPECT_EQ(sending.pool().in_use(), 40U);
    rig.poll();
    EXPECT_TRUE(rig.take().empty());
    EXPECT_EQ(rig.of_host.size(), 40U);
    rig.engine->faults().stalls = false;
    rig.end();
}

}  // namespace
}  // namespace spead::recv::test
