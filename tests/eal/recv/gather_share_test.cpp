// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/gather_sending.hpp"

/// Tests what engines and ports share: the mbufs of pools, and their ends.
namespace spead::recv::test::gather_share_test {
namespace {

constexpr std::uint32_t kOtherGroup = 0xEF010204;

Bytes small_heap(std::uint64_t cnt, const Way& way = {}) {
    return MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames(way)[0];
}

/// Holds a second stream of the lcore, with an engine of its own.
struct Beside {
    gather::FakeEngine engine;
    std::shared_ptr<const memory::Region> region{engine.allocate(GatherRig::kMemory)};
    memory::Arena arena{{region->base, region->length}, 512U << 10};
    std::shared_ptr<Gathering> gathering{std::make_shared<Gathering>(engine.connect(8))};
    SpeadLane lane{GatherRig::with_records(lane_config("s1", one_group(kOtherGroup))),
                   heap::PoolPlacer(arena, arena.capacity())};
};

TEST(GatherShare, AnEngineKeepsNoMoreMbufsThanItsShare) {
    GatherRig rig;
    rig.gathering->set_most(2 * Gathering::kBurst);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= 600; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(small_heap(cnt)));
    rig.ticks = 1'000'000;
    for (int i = 0; i < 100; i++)
        rig.poll();
    EXPECT_EQ(rig.received(), 2 * Gathering::kBurst);
    EXPECT_GT(rig.source.counters.gather_full, 50U);
    rig.engine->faults().stalls = false;
    rig.poll_until(600);
    rig.settle();
    EXPECT_EQ(rig.take().size(), 600U);
    EXPECT_TRUE(sending.pool().full());
}

TEST(GatherShare, SegmentsOfAPacketCount) {
    GatherRig rig;
    rig.gathering->set_most(2 * Gathering::kBurst);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= 200; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(small_heap(cnt), {60, 30}));
    rig.ticks = 1'000'000;
    for (int i = 0; i < 100; i++)
        rig.poll();
    EXPECT_EQ(rig.received(), Gathering::kBurst) << "of three mbufs each";
    rig.engine->faults().stalls = false;
    rig.poll_until(200);
    rig.settle();
    EXPECT_EQ(rig.take().size(), 200U);
}

TEST(GatherShare, PacketsThatAPortWaitsForComeBackAlthoughOthersFollow) {
    GatherRig rig;
    Sending sending(rig);
    rig.ticks = 1;
    rig.agent.mark_gathering();
    EXPECT_TRUE(rig.agent.is_past_gathering()) << "there are none";
    ASSERT_NO_FATAL_FAILURE(sending.send(small_heap(1)));
    rig.poll_until(1);
    rig.engine->faults().stalls = true;
    rig.agent.mark_gathering();
    EXPECT_EQ(rig.channel->in_flight(), 1U) << "whatever the age of its batch";
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_FALSE(rig.agent.is_past_gathering());
    ASSERT_NO_FATAL_FAILURE(sending.send(small_heap(2)));
    rig.poll_until(2);
    rig.engine->faults().stalls = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return rig.agent.is_past_gathering(); }));
    EXPECT_TRUE(rig.agent.is_gathering()) << "the later packet is in an open batch";
    EXPECT_EQ(sending.pool().in_use(), 1U);
    rig.settle();
}

TEST(GatherShare, AHealthyEngineFinishesBesideOneThatIsGivenUp) {
    constexpr std::uint64_t kHeaps = 300;
    Beside beside;
    beside.lane.gather_with(beside.gathering);
    GatherRig rig;
    rig.add_beside(beside.lane);
    Sending sending(rig);
    rig.engine->faults().fails_after = 0;
    rig.engine->faults().lingers = true;
    beside.engine.faults().delay_us = 20'000;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++)
        for (const Way& way : {Way{}, Way{.to = kOtherGroup}})
            ASSERT_NO_FATAL_FAILURE(sending.send(small_heap(cnt, way)));
    rig.poll_until(2 * kHeaps);
    EXPECT_FALSE(rig.agent.drop_rest());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (beside.gathering->any_out() && std::chrono::steady_clock::now() < end)
        EXPECT_FALSE(rig.agent.drop_rest());
    rig.agent.give_up_gathering();
    EXPECT_TRUE(rig.agent.drop_rest());
    EXPECT_EQ(beside.lane.counters.heaps_device_error, 0U);
    EXPECT_EQ(beside.gathering->packets_lost(), 0U);
    std::uint64_t whole = 0;
    while (const heap::HeapHandle h = beside.lane.queue.try_pop())
        whole += h.complete();
    EXPECT_EQ(whole, kHeaps);
    EXPECT_EQ(rig.lane->counters.heaps_device_error, kHeaps);
    rig.was_given_up = true;
    // The failed engine gives its packets back when it has ended, for this test.
    rig.engine->faults().lingers = false;
    EXPECT_TRUE(rig.engine->stop(std::chrono::seconds(20)));
    for (const gather::Batch& b : rig.channel->batches())
        for (std::uint32_t i = 0; i < b.packet_count; i++)
            rte_pktmbuf_free(static_cast<rte_mbuf*>(b.packets[i]));
    EXPECT_TRUE(sending.pool().full());
}

}  // namespace
}  // namespace spead::recv::test::gather_share_test
