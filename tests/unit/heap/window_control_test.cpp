// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests stream control: heaps of nothing else, and the stop item.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

WindowConfig stopping() {
    WindowConfig c = small_window();
    c.stop_on_stop_item = true;
    return c;
}

TEST(WindowControl, AHeapOfOnePacketIsNoHeapAndCountsAsControl) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(1).control()), control);
    EXPECT_EQ(rig.counters.heaps_started, 0U);
    EXPECT_EQ(rig.counters.bytes, 0U);
    EXPECT_EQ(rig.queued(), 0U);
    EXPECT_EQ(rig.arena().in_use(), 0U);
}

TEST(WindowControl, ARepeatOfItIsADuplicate) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), control);
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), duplicate);
    EXPECT_EQ(rig.counters.stop_items, 1U);
}

TEST(WindowControl, ARepeatOfItWithoutAHistoryIsControlAgain) {
    WindowConfig c = small_window();
    c.history = 0;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), control);
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), control);
}

WindowConfig delivering() {
    WindowConfig c = small_window();
    c.control_heaps = true;
    return c;
}

TEST(WindowControl, HeapsOfItAreDeliveredToAStreamThatWantsThem) {
    Rig rig(delivering());
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), placed);
    EXPECT_EQ(rig.give(Packet(2).of(0).control()), placed) << "no bytes";
    EXPECT_EQ(rig.give(Packet(3).control()), placed) << "no bytes, and without a length";
    EXPECT_EQ(rig.give(Packet(4).at(0, 10).stop()), placed) << "without a length";
    EXPECT_EQ(rig.give(Packet(5).of(30).at(0, 10).control()), placed);
    EXPECT_EQ(rig.give(Packet(5).of(30).at(10, 20)), placed);
    EXPECT_EQ(rig.packets(placed), 6U);
    EXPECT_EQ(rig.packets(control), 0U);
    EXPECT_EQ(rig.counters.heaps_started, 5U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 5U);
    EXPECT_EQ(rig.counters.bytes, 1U + 10U + 30U);
    EXPECT_EQ(rig.counters.stop_items, 2U);
    for (const std::uint64_t length : {1U, 0U, 0U, 10U, 30U}) {
        const HeapHandle heap = rig.pop();
        ASSERT_TRUE(heap);
        EXPECT_TRUE(heap.complete());
        EXPECT_EQ(heap.length(), length);
        EXPECT_TRUE(holds_pattern(heap));
    }
    EXPECT_FALSE(rig.pop());
}

TEST(WindowControl, ARepeatOfADeliveredOneIsADuplicate) {
    Rig rig(delivering());
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), duplicate);
    EXPECT_EQ(rig.give(Packet(1).control()), duplicate);
    EXPECT_EQ(rig.counters.stop_items, 1U);
    EXPECT_EQ(rig.queued(), 1U);
}

TEST(WindowControl, AForgedHeapOfItTakesNoCountFromTheRealHeap) {
    WindowConfig c = delivering();
    c.guarded = true;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(1).control()), placed);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(0, 10)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(10, 20)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 2U);
}

TEST(WindowControl, TheStopItemEndsTheStreamAndItsHeapIsDelivered) {
    WindowConfig c = delivering();
    c.stop_on_stop_item = true;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(0, 10)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(1).stop()), placed);
    EXPECT_TRUE(rig.window().stopped());
    EXPECT_EQ(rig.give(Packet(3).whole(1)), stopped);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
    EXPECT_EQ(rig.queued(), 2U);
}

TEST(WindowControl, HeapsOfItThatFindNoRoomAreCounted) {
    WindowConfig c = delivering();
    RigSizes sizes;
    sizes.quota = 0;
    Rig rig(c, sizes);
    EXPECT_EQ(rig.give(Packet(1).whole(1).stop()), no_memory);
    EXPECT_EQ(rig.counters.stop_items, 0U);
}

TEST(WindowControl, AHeapOfNoBytesIsControlToo) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(0).control()), control);
    EXPECT_EQ(rig.give(Packet(2).control()), control) << "without a length";
}

TEST(WindowControl, AHeapOfSeveralPacketsIsTakenOutOfTheCounts) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(30).at(0, 10).control()), placed);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(20, 10)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(10, 10)), placed);
    EXPECT_EQ(rig.packets(placed), 0U);
    EXPECT_EQ(rig.packets(control), 3U);
    EXPECT_EQ(rig.counters.heaps_started, 0U);
    EXPECT_EQ(rig.counters.bytes, 0U);
    EXPECT_EQ(rig.queued(), 0U);
    EXPECT_EQ(rig.window().records_out(), 0U);
    EXPECT_EQ(rig.give(Packet(1).of(30).at(0, 10).control()), duplicate);
}

TEST(WindowControl, AmongOrdinaryHeapsOfOneBatchIsTakenOutAlone) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).whole(10)), placed);
    EXPECT_EQ(rig.accept(Packet(2).of(20).at(0, 10).control()), placed);
    EXPECT_EQ(rig.accept(Packet(3).whole(10)), placed);
    EXPECT_EQ(rig.accept(Packet(2).of(20).at(10, 10)), placed);
    EXPECT_EQ(rig.accept(Packet(4).whole(10)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 3, 4}));
    EXPECT_EQ(rig.packets(control), 2U);
    EXPECT_EQ(rig.packets(placed), 3U);
}

TEST(WindowControl, OfOnePacketLeavesThePlacesOfTheWindowAlone) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8)), placed);
    for (std::uint64_t k = 2; k < 20; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(1).control()), control);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(8, 8)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
}

TEST(WindowControl, BesideItemsOfDataIsAnOrdinaryHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(8).items({1}).stop()), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8).stop()), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(8, 8).items({1})), placed);
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(rig.packets(control), 0U);
    EXPECT_EQ(rig.counters.stop_items, 2U);
}

TEST(WindowControl, ThatNeverCompletesIsAnIncompleteHeapSinceItsItemsMayHaveBeenLost) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(30).at(0, 10).control()), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.end(), HeapEnd::flushed);
}

TEST(WindowControl, OfOnePacketWithoutALengthIsTakenForAHeapOfItsOwn) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 10).control()), control);
    EXPECT_EQ(rig.give(Packet(1).at(10, 10)), duplicate);
    EXPECT_EQ(rig.give(Packet(2).at(10, 10).control()), placed) << "it does not begin at the beginning";
}

TEST(WindowStop, AStopItemIsCountedAndStopsNothingByDefault) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(1).stop()), control);
    EXPECT_FALSE(rig.window().stopped());
    EXPECT_EQ(rig.counters.stop_items, 1U);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(8, 8)), placed);
    EXPECT_EQ(rig.give(Packet(3).whole(8)), placed);
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 3}));
}

TEST(WindowStop, AStopItemEndsTheStreamWhenAskedTo) {
    Rig rig(stopping());
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(3).whole(1).stop()), control);
    EXPECT_TRUE(rig.window().stopped());
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 2U);
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(rig.give(Packet(1).of(16).at(8, 8)), stopped);
    EXPECT_EQ(rig.give(Packet(9).whole(8)), stopped);
    EXPECT_EQ(rig.give(Packet(9).of(1 << 30).at(0, 1)), stopped);
    EXPECT_EQ(rig.packets(stopped), 3U);
}

TEST(WindowStop, IgnoresTheRestOfTheBatchAndFlushesAfterItsCopies) {
    Rig rig(stopping());
    EXPECT_EQ(rig.accept(Packet(1).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.accept(Packet(2).whole(8)), placed);
    EXPECT_EQ(rig.accept(Packet(3).whole(1).stop()), control);
    EXPECT_EQ(rig.accept(Packet(1).of(16).at(8, 8)), stopped);
    EXPECT_EQ(rig.queued(), 0U);
    rig.commit();
    EXPECT_EQ(rig.counters.heaps_live, 0U);
    rig.hand_over();
    const HeapHandle complete = rig.pop();
    EXPECT_EQ(complete.cnt(), 2U);
    const HeapHandle flushed = rig.pop();
    EXPECT_EQ(flushed.cnt(), 1U);
    EXPECT_TRUE(holds_pattern(flushed, 0, 8));
}

TEST(WindowStop, AHeapOfDataWithAStopItemIsDeliveredAndEndsTheStream) {
    Rig rig(stopping());
    EXPECT_EQ(rig.give(Packet(1).whole(8).items({1}).stop()), placed);
    EXPECT_TRUE(rig.window().stopped());
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
}

TEST(WindowStop, AStopItemInAnUnfinishedHeapEndsTheStreamAndTheHeapIsFlushed) {
    Rig rig(stopping());
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).items({1}).stop()), placed);
    EXPECT_TRUE(rig.window().stopped());
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(8, 8)), stopped);
}

TEST(WindowStop, AStopItemOfARefusedPacketStopsNothing) {
    Rig rig(stopping());
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(17).at(8, 8).stop()), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).stop()), duplicate);
    EXPECT_EQ(rig.give(Packet(2).of(1 << 30).at(0, 8).stop()), heap_too_big);
    EXPECT_FALSE(rig.window().stopped());
    EXPECT_EQ(rig.counters.stop_items, 0U);
}

TEST(WindowStop, CanBeAskedForAndTakesEffectAtOnce) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8)), placed);
    rig.window().stop();
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
    EXPECT_EQ(rig.give(Packet(2).whole(8)), stopped);
}

TEST(WindowStop, CanBeAskedForWhileCopiesAreOutstanding) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).of(16).at(0, 8)), placed);
    rig.window().stop();
    EXPECT_EQ(rig.accept(Packet(1).of(16).at(8, 8)), stopped);
    EXPECT_EQ(rig.queued(), 0U);
    rig.commit();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(holds_pattern(h, 0, 8));
}

TEST(WindowStop, KeepsWhatTheQueueDoesNotTakeWhenItBlocks) {
    WindowConfig c = stopping();
    c.on_full = FullPolicy::block;
    Rig rig(c, {.queue_heaps = 1});
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(3).whole(1).stop()), control);
    EXPECT_TRUE(rig.window().blocked());
    EXPECT_EQ(rig.pop().cnt(), 1U);
    rig.hand_over();
    EXPECT_FALSE(rig.window().blocked());
    EXPECT_EQ(rig.pop().cnt(), 2U);
}

}  // namespace
}  // namespace spead::heap::test
