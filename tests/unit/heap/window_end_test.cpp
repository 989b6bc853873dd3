// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests how incomplete heaps leave the window: evicted, timed out, flushed.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;
using Counts = std::vector<std::uint64_t>;

/// Makes the first half of a heap of 16 bytes. other_half() makes the second.
Packet half(std::uint64_t key) {
    return Packet(key).of(16).at(0, 8);
}
Packet other_half(std::uint64_t key) {
    return Packet(key).of(16).at(8, 8);
}

TEST(WindowEviction, HappensExactlyWhenMaxLiveNewerHeapsHaveStarted) {
    for (const std::uint32_t live : {1U, 2U, 4U, 7U}) {
        WindowConfig c = small_window();
        c.max_live = live;
        Rig rig(c);
        EXPECT_EQ(rig.give(half(1000)), placed);
        for (std::uint64_t k = 0; k + 1 < live; k++)
            EXPECT_EQ(rig.give(half(k)), placed);
        EXPECT_EQ(rig.ended(HeapEnd::evicted), 0U);
        EXPECT_EQ(rig.give(half(500)), placed);
        EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U) << live << " newer ones have started";
        EXPECT_EQ(pop_counts(rig), Counts{1000});
        EXPECT_EQ(rig.counters.heaps_live, live);
    }
}

TEST(WindowEviction, CountsCompletedHeapsAmongTheNewerOnesSinceTheyLeaveHoles) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1)), placed);
    for (std::uint64_t k = 2; k < 5; k++) {
        EXPECT_EQ(rig.give(half(k)), placed);
        EXPECT_EQ(rig.give(other_half(k)), placed);
    }
    EXPECT_EQ(rig.counters.heaps_live, 1U);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 0U);
    EXPECT_EQ(rig.give(half(5)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U) << "although three places were free";
    EXPECT_EQ(pop_counts(rig), (Counts{2, 3, 4, 1}));
}

TEST(WindowEviction, CountsSinglePacketHeapsAmongTheNewerOnes) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1)), placed);
    for (std::uint64_t k = 2; k < 5; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(8)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 0U);
    EXPECT_EQ(rig.give(Packet(5).whole(8)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U);
}

TEST(WindowEviction, IsNotBroughtAboutByRefusedRepeatedOrLatePackets) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(8)), placed);
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(rig.give(Packet(2).whole(8)), duplicate);
        EXPECT_EQ(rig.give(half(1)), duplicate);
        EXPECT_EQ(rig.give(Packet(100).of(1 << 30).at(0, 8)), heap_too_big);
        EXPECT_EQ(rig.give(Packet(200 + static_cast<std::uint64_t>(i)).of(1).at(0, 1).stop()), control);
    }
    EXPECT_EQ(rig.give(other_half(1)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 2U);
}

TEST(WindowEviction, OfOneSubstreamLeavesTheOthersAlone) {
    WindowConfig c = small_window();
    c.substreams = 4;
    c.max_live = 2;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 8; k++)
        EXPECT_EQ(rig.give(half(k)), placed);
    EXPECT_EQ(rig.counters.heaps_live, 8U);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 0U);
    for (std::uint64_t k = 9; k < 40; k += 4)
        EXPECT_EQ(rig.give(half(k)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 8U) << "all of substream 1";
    for (const std::uint64_t k : {0U, 2U, 3U, 4U, 6U, 7U})
        EXPECT_EQ(rig.give(other_half(k)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 6U);
}

TEST(WindowEviction, FreesTheCountSoThatAnOldHeapDoesNotComeBack) {
    WindowConfig c = small_window();
    c.max_live = 2;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 100; k++)
        EXPECT_EQ(rig.give(half(k)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 98U);
    for (std::uint64_t k = 0; k < 98; k++)
        EXPECT_EQ(rig.give(other_half(k)), late);
    EXPECT_EQ(rig.give(other_half(98)), placed);
    EXPECT_EQ(rig.give(other_half(99)), placed);
    pop_counts(rig);
}

TEST(WindowEviction, OfAHeapThatStillReceivesIsToldApart) {
    WindowConfig c = small_window();
    c.max_live = 2;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(80).at(0, 8).time(1)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(80).at(0, 8).time(2)), placed);
    EXPECT_EQ(rig.give(Packet(3).of(80).at(0, 8).time(3)), placed);
    EXPECT_EQ(rig.counters.heaps_interleaved_evictions, 0U) << "nothing came to it after the newer one";
    EXPECT_EQ(rig.give(Packet(2).of(80).at(8, 8).time(4)), placed);
    EXPECT_EQ(rig.give(Packet(4).of(80).at(0, 8).time(5)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 2U);
    EXPECT_EQ(rig.counters.heaps_interleaved_evictions, 1U);
}

TEST(WindowEviction, OfAHeapThatLostAPacketIsNotTakenForInterleavingWithinOneBurst) {
    WindowConfig c = small_window();
    c.max_live = 2;
    Rig rig(c);
    // All packets of a burst carry one arrival time.
    EXPECT_EQ(rig.give(half(1).time(7)), placed);
    for (std::uint64_t k = 2; k < 10; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(8).time(7)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U);
    EXPECT_EQ(rig.counters.heaps_interleaved_evictions, 0U);
}

TEST(WindowTimeout, EndsAHeapOneTickAfterItsTimeWithoutAPacket) {
    WindowConfig c = small_window();
    c.timeout_ticks = 100;
    Rig rig(c);
    EXPECT_EQ(rig.give(half(1).time(1000)), placed);
    EXPECT_EQ(rig.give(half(2).time(1001)), placed);
    rig.expire(1100);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 0U);
    rig.expire(1101);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 1U);
    EXPECT_EQ(pop_counts(rig), Counts{1});
    EXPECT_EQ(rig.give(other_half(2).time(1101)), placed);
    EXPECT_EQ(pop_counts(rig), Counts{2});
}

TEST(WindowTimeout, CountsFromTheLastPacketThatWasPlaced) {
    WindowConfig c = small_window();
    c.timeout_ticks = 100;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(80).at(0, 8).time(1000)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(80).at(8, 8).time(1090)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(80).at(8, 8).time(1180)), duplicate) << "a repeat keeps nothing alive";
    rig.expire(1190);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 0U);
    rig.expire(1191);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 1U);
}

TEST(WindowTimeout, OfZeroNeverEndsAHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1).time(1)), placed);
    rig.expire(std::uint64_t{1} << 63);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 0U);
    EXPECT_EQ(rig.give(other_half(1).time(2)), placed);
}

TEST(WindowTimeout, CanBeSetWhileHeapsAreLive) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1).time(1)), placed);
    rig.window().set_timeout(10);
    rig.expire(12);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 1U);
}

TEST(WindowTimeout, EndsTheOldestHeapFirst) {
    WindowConfig c = small_window();
    c.timeout_ticks = 10;
    Rig rig(c);
    for (std::uint64_t k = 1; k < 7; k++)
        EXPECT_EQ(rig.give(half(k).time(k)), placed);
    EXPECT_EQ(pop_counts(rig), (Counts{1, 2}));
    rig.expire(100);
    EXPECT_EQ(pop_counts(rig), (Counts{3, 4, 5, 6}));
}

TEST(WindowTimeout, WaitsForCopiesOfTheHeap) {
    WindowConfig c = small_window();
    c.timeout_ticks = 10;
    Rig rig(c);
    EXPECT_EQ(rig.accept(half(1).time(1)), placed);
    rig.expire(100);
    EXPECT_EQ(rig.ended(HeapEnd::timed_out), 1U);
    EXPECT_EQ(rig.queued(), 0U);
    rig.commit();
    rig.hand_over();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(holds_pattern(h, 0, 8));
}

TEST(WindowFlush, EndsHeapsOldestFirstWithinEachSubstream) {
    WindowConfig c = small_window();
    c.substreams = 2;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 14; k++)
        EXPECT_EQ(rig.give(half(k)), placed);
    EXPECT_EQ(rig.give(other_half(8)), placed);
    EXPECT_EQ(pop_counts(rig), (Counts{0, 1, 2, 3, 4, 5, 8}));
    rig.flush();
    EXPECT_EQ(pop_counts(rig), (Counts{6, 10, 12, 7, 9, 11, 13}));
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 7U);
    EXPECT_EQ(rig.counters.heaps_live, 0U);
}

TEST(WindowFlush, OfAnEmptyWindowDoesNothing) {
    Rig rig;
    rig.flush();
    rig.flush();
    EXPECT_EQ(rig.counters.heaps_started, 0U);
    EXPECT_EQ(rig.queued(), 0U);
}

TEST(WindowFlush, LeavesTheWindowUsable) {
    Rig rig;
    EXPECT_EQ(rig.give(half(1)), placed);
    rig.flush();
    EXPECT_EQ(rig.give(half(2)), placed);
    EXPECT_EQ(rig.give(other_half(2)), placed);
    EXPECT_EQ(pop_counts(rig), (Counts{1, 2}));
}

TEST(WindowFlush, HandsOverOnlyAfterTheCopies) {
    Rig rig;
    EXPECT_EQ(rig.accept(half(1)), placed);
    rig.flush();
    EXPECT_EQ(rig.queued(), 0U);
    rig.commit();
    rig.hand_over();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(holds_pattern(h, 0, 8));
}

TEST(WindowMissing, WhatAHeapAnnouncedAndDidNotBringIsCountedWhenItIsGivenUp) {
    Rig rig;
    for (const std::uint64_t at : {0, 100, 300})
        rig.give(Packet(1).of(950).at(at, 100));
    EXPECT_EQ(rig.counters.missing_bytes, 0U);
    rig.flush();
    EXPECT_EQ(rig.counters.missing_bytes, 650U);
    EXPECT_EQ(rig.counters.missing_packets, 7U);
    rig.give(Packet(2).of(200).at(0, 100));
    rig.give(Packet(2).of(200).at(100, 100));
    EXPECT_EQ(rig.counters.missing_bytes, 650U) << "a complete heap misses nothing";
}

TEST(WindowMissing, WithoutALengthTheHolesAreWhatIsKnown) {
    Rig rig;
    rig.give(Packet(1).at(0, 100));
    rig.give(Packet(1).at(300, 10));
    rig.flush();
    EXPECT_EQ(rig.counters.missing_bytes, 200U);
    EXPECT_EQ(rig.counters.missing_packets, 4U) << "of 55 bytes each, as those that came";
}

TEST(WindowMissing, APacketAtLeastIsMissingWhereABytesIs) {
    Rig rig;
    rig.give(Packet(1).of(1001).at(0, 1000));
    rig.flush();
    EXPECT_EQ(rig.counters.missing_bytes, 1U);
    EXPECT_EQ(rig.counters.missing_packets, 1U);
}

}  // namespace
}  // namespace spead::heap::test
