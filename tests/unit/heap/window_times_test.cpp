// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/heap_rig.hpp"

/// Tests how long heaps take, and how full the queue and the memory became.
namespace spead::heap::test {
namespace {

Packet packet(std::uint64_t cnt, std::uint64_t arrival) {
    return Packet(cnt).of(16).time(arrival);
}

TEST(WindowTimes, LatencyIsFromTheFirstPacketToTheHandOver) {
    Rig rig;
    rig.accept(packet(1, 1000).at(0, 8));
    rig.accept(packet(1, 5000).at(8, 8));
    rig.commit();
    rig.now = 8000;
    rig.hand_over();
    const stats::TickHistogram& latency = rig.window().times().latency;
    EXPECT_EQ(latency.count(), 1U);
    EXPECT_EQ(latency.min(), 7000U);
    EXPECT_EQ(latency.max(), 7000U);
}

TEST(WindowTimes, HeapsOfOneBurstAreCountedOneByOne) {
    Rig rig;
    for (std::uint64_t cnt = 1; cnt <= 5; cnt++)
        rig.accept(packet(cnt, cnt <= 3 ? 1000 : 2000).at(0, 16));
    rig.commit();
    rig.now = 3000;
    rig.hand_over();
    const stats::TickHistogram& latency = rig.window().times().latency;
    EXPECT_EQ(latency.count(), 5U);
    EXPECT_EQ(latency.sum(), 3 * 2000U + 2 * 1000U);
}

TEST(WindowTimes, AClockThatLagsBehindIsNoTime) {
    Rig rig;
    rig.accept(packet(1, 1000).at(0, 16));
    rig.commit();
    rig.now = 900;
    rig.hand_over();
    EXPECT_EQ(rig.window().times().latency.max(), 0U);
    EXPECT_EQ(rig.window().times().latency.count(), 1U);
}

TEST(WindowTimes, GapsAreBetweenTheBeginningsOfHeaps) {
    Rig rig;
    rig.accept(packet(1, 1000).at(0, 8));
    rig.accept(packet(2, 1000).at(0, 8));
    rig.accept(packet(3, 1000).at(0, 8));
    rig.accept(packet(1, 1500).at(8, 8));  // begins nothing
    rig.accept(packet(4, 4000).at(0, 8));
    rig.accept(packet(5, 3500).at(0, 8));  // time does not run backwards
    const stats::TickHistogram& gap = rig.window().times().gap;
    EXPECT_EQ(gap.count(), 4U);
    EXPECT_EQ(gap.sum(), 3000U);
    EXPECT_EQ(gap.min(), 0U);
    EXPECT_EQ(gap.max(), 3000U);
}

TEST(WindowTimes, HeapsThatAreThrownAwayUnqueuedHaveNoLatency) {
    RigSizes sizes;
    sizes.queue_heaps = 2;
    Rig rig(small_window(), sizes);
    for (std::uint64_t cnt = 1; cnt <= 5; cnt++)
        rig.give(packet(cnt, 1000).at(0, 16));
    EXPECT_EQ(rig.counters.heaps_dropped_full, 3U);
    EXPECT_EQ(rig.window().times().latency.count(), 2U);
    EXPECT_EQ(rig.queue().most_queued(), 2U);
}

TEST(WindowTimes, HeapsThatWereQueuedBeforeTheyWereThrownAwayHaveOne) {
    WindowConfig config = small_window();
    config.on_full = FullPolicy::drop_oldest;
    RigSizes sizes;
    sizes.queue_heaps = 2;
    Rig rig(config, sizes);
    for (std::uint64_t cnt = 1; cnt <= 5; cnt++)
        rig.give(packet(cnt, 1000).at(0, 16));
    EXPECT_EQ(rig.counters.heaps_dropped_oldest, 3U);
    EXPECT_EQ(rig.window().times().latency.count(), 5U);
}

TEST(WindowTimes, HighWaterMarksStayUntilTheyAreForgotten) {
    Rig rig;
    for (std::uint64_t cnt = 1; cnt <= 3; cnt++)
        rig.give(packet(cnt, 1000).at(0, 16));
    const std::size_t most = rig.window().placer().most_out();
    EXPECT_EQ(most, rig.window().placer().out());
    EXPECT_EQ(rig.queue().most_queued(), 3U);
    while (rig.pop()) {
    }
    rig.reclaim();
    EXPECT_EQ(rig.window().placer().out(), 0U);
    EXPECT_EQ(rig.window().placer().most_out(), most);
    EXPECT_EQ(rig.queue().most_queued(), 3U);

    rig.forgotten = rig.counters.heaps_pushed;
    rig.window().forget_peaks();
    rig.queue().forget_most_queued();
    EXPECT_EQ(rig.window().placer().most_out(), 0U);
    EXPECT_EQ(rig.queue().most_queued(), 0U);
    EXPECT_EQ(rig.window().times().latency.count(), 0U);
    EXPECT_EQ(rig.window().times().gap.count(), 0U);
}

}  // namespace
}  // namespace spead::heap::test
