// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"
#include "tests/support/sanitized.hpp"

/// Tests the window's memory of heaps: duplicates, late packets, the history and its end.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

TEST(WindowDuplicates, ARepeatedPacketOfAnOpenHeapIsADuplicateAndChangesNothing) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100, 9)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100, 9)), duplicate) << "behind a hole";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(h.packets(), 3U);
    EXPECT_EQ(rig.counters.bytes, 300U);
}

TEST(WindowDuplicates, APartOfWhatArrivedIsADuplicateToo) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(110, 20)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 1)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(199, 1)), duplicate);
}

TEST(WindowDuplicates, APartialOverlapIsInconsistentAndChangesNothing) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(50, 51)), inconsistent) << "into its beginning";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(199, 50)), inconsistent) << "out of its end";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(50, 200)), inconsistent) << "around it";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(199, 101, 9)), inconsistent) << "out of the prefix";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowDuplicates, APacketOfACompletedHeapIsADuplicateAndStartsNothing) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), duplicate);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    EXPECT_EQ(rig.queued(), 1U);
}

TEST(WindowDuplicates, ASinglePacketHeapIsDeliveredOnce) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(100)), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(100)), duplicate);
    EXPECT_EQ(rig.queued(), 1U);
    EXPECT_TRUE(rig.pop().complete());
    EXPECT_EQ(rig.give(Packet(1).whole(100)), duplicate) << "also when the consumer has it";
    rig.reclaim();
    EXPECT_EQ(rig.give(Packet(1).whole(100)), duplicate) << "also when it is back";
}

TEST(WindowDuplicates, APacketOfTheSameBatchThatCompletedTheHeapIsADuplicate) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).whole(100)), placed);
    EXPECT_EQ(rig.accept(Packet(1).whole(100)), duplicate);
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
}

TEST(WindowDuplicates, APacketOfAnEvictedHeapIsLate) {
    WindowConfig c = small_window();
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), late);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), late);
}

TEST(WindowDuplicates, APacketOfATimedOutHeapIsLate) {
    WindowConfig c = small_window();
    c.timeout_ticks = 10;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100).time(5)), placed);
    rig.expire(16);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100).time(17)), late);
}

TEST(WindowDuplicates, APacketOfAFlushedHeapIsLate) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    rig.flush();
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), late);
}

TEST(WindowHistory, HoldsExactlyItsSizeOfFinishedHeaps) {
    WindowConfig c = small_window();
    c.history = 100;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 100; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(8)), placed);
        pop_counts(rig);
    }
    ASSERT_EQ(rig.give(Packet(0).whole(8)), duplicate) << "the oldest of 100";
    ASSERT_EQ(rig.give(Packet(100).whole(8)), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(8)), duplicate) << "now the oldest";
    EXPECT_EQ(rig.give(Packet(0).whole(8)), placed) << "pushed out, so it is a new heap";
}

TEST(WindowHistory, HoldsNoFewerThanItsLeastSize) {
    WindowConfig c = small_window();
    c.history = 1;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 64; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(8)), placed);
        pop_counts(rig);
    }
    EXPECT_EQ(rig.give(Packet(0).whole(8)), duplicate);
    ASSERT_EQ(rig.give(Packet(64).whole(8)), placed);
    EXPECT_EQ(rig.give(Packet(0).whole(8)), placed);
}

/// Counts of eight bits come round after 256 heaps, those of sixteen after 65536.
TEST(WindowHistory, LeavesHalfOfFewCountsToNewHeaps) {
    WindowConfig c = small_window();
    c.history = 1024;
    for (const std::uint8_t bits : {std::uint8_t{8}, std::uint8_t{16}}) {
        Rig rig(c);
        const std::uint64_t counts = std::uint64_t{1} << bits;
        const std::uint64_t first = spead::test::kSanitized && bits == 16 ? 2 * counts - 3000 : 0;
        for (std::uint64_t k = first; k < 2 * counts + 1000; k++) {
            ASSERT_EQ(rig.give(Packet(k % counts).flavour(bits).whole(64)), placed) << k;
            ASSERT_EQ(rig.give(Packet(k % counts).flavour(bits).whole(64)), duplicate) << k;
            if (k >= first + 120) {
                ASSERT_EQ(rig.give(Packet((k - 120) % counts).flavour(bits).whole(64)), duplicate) << k;
            }
            ASSERT_TRUE(rig.pop());
        }
    }
}

TEST(WindowHistory, IsKeptForEachSubstreamByItself) {
    WindowConfig c = small_window();
    c.substreams = 2;
    c.history = 64;
    Rig rig(c);
    ASSERT_EQ(rig.give(Packet(1).whole(8)), placed);
    for (std::uint64_t k = 0; k < 400; k += 2) {
        ASSERT_EQ(rig.give(Packet(k).whole(8)), placed);
        pop_counts(rig);
    }
    EXPECT_EQ(rig.give(Packet(1).whole(8)), duplicate);
    EXPECT_EQ(rig.give(Packet(0).whole(8)), placed);
}

TEST(WindowHistory, ExpiresExactlyAfterItsTime) {
    WindowConfig c = small_window();
    c.history_ticks = 1000;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(500)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(8).time(501)), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(1500)), duplicate) << "1000 ticks later";
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(1501)), placed) << "a sender that started again at 1";
    EXPECT_EQ(rig.give(Packet(2).whole(8).time(1501)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(2501)), duplicate) << "counted from its second end";
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(2502)), placed);
}

TEST(WindowHistory, CountsFromTheEndOfAHeapNotFromItsStart) {
    WindowConfig c = small_window();
    c.history_ticks = 1000;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).time(0)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(8, 8).time(900)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).time(1900)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(16).at(0, 8).time(1901)), placed);
}

TEST(WindowHistory, ExpiresInTheHousekeepingToo) {
    WindowConfig c = small_window();
    c.history_ticks = 1000;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(500)), placed);
    rig.expire(1500);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(1500)), duplicate);
    rig.expire(1501);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(1500)), placed);
}

TEST(WindowHistory, DoesNotExpireWhenItsTimeIsZero) {
    WindowConfig c = small_window();
    c.history_ticks = 0;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(1)), placed);
    rig.expire(std::uint64_t{1} << 62);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(std::uint64_t{1} << 63)), duplicate);
}

TEST(WindowHistory, SurvivesAClockThatStepsBack) {
    WindowConfig c = small_window();
    c.history_ticks = 1000;
    c.timeout_ticks = 1000;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(5000)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8).time(5000)), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(8).time(10)), duplicate);
    rig.expire(10);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(8, 8).time(10)), placed) << "still live";
    EXPECT_EQ(rig.ended(HeapEnd::complete), 2U);
}

TEST(WindowHistory, OfZeroMakesEveryRepeatANewHeap) {
    WindowConfig c = small_window();
    c.history = 0;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).whole(8)), placed);
    EXPECT_EQ(rig.give(Packet(1).whole(8)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(0, 8)), duplicate) << "the heap is open";
    EXPECT_EQ(rig.give(Packet(2).of(16).at(8, 8)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(16).at(8, 8)), placed) << "a ghost, as in spead2";
    EXPECT_EQ(rig.counters.heaps_started, 4U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 3U);
    rig.flush();
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 1U);
}

TEST(WindowHistory, OfZeroMakesALatePacketANewHeap) {
    WindowConfig c = small_window();
    c.history = 0;
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    EXPECT_EQ(rig.counters.heaps_started, 3U);
}

TEST(WindowCounts, AWrappedHeapCountIsJustAnotherNumber) {
    Rig rig;
    const std::uint64_t last = (std::uint64_t{1} << 40) - 1;
    for (const std::uint64_t key : {last - 1, last, std::uint64_t{0}, std::uint64_t{1}})
        EXPECT_EQ(rig.give(Packet(key).of(16).at(0, 8)), placed);
    for (const std::uint64_t key : {std::uint64_t{1}, std::uint64_t{0}, last, last - 1})
        EXPECT_EQ(rig.give(Packet(key).of(16).at(8, 8)), placed);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 4U);
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 0, last, last - 1}));
}

TEST(WindowCounts, TheLargestHeapCountOfAnyFlavourIsReceived) {
    WindowConfig c = small_window();
    c.substreams = 3;
    Rig rig(c);
    const std::uint64_t largest = (std::uint64_t{1} << 56) - 1;
    EXPECT_EQ(rig.give(Packet(largest).flavour(56).of(16).at(0, 8)), placed);
    EXPECT_EQ(rig.give(Packet(largest).flavour(56).of(16).at(8, 8)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.cnt(), largest);
    EXPECT_EQ(h.flavour(), 56);
}

TEST(WindowCounts, TwoSendersWithTheSameCountMixInOneHeapAndTheSecondIsTold) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).from(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).from(2).of(300).at(0, 100, 2)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).from(2).of(300).at(100, 100, 2)), placed);
    EXPECT_EQ(rig.give(Packet(1).from(1).of(300).at(100, 100)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).from(2).of(400).at(200, 100, 2)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).from(1).of(300).at(200, 100)), placed);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.source(), 1U) << "of the first packet";
    EXPECT_TRUE(holds_pattern(h, 0, 100));
    EXPECT_TRUE(holds_pattern(h, 100, 200, 2));
    EXPECT_TRUE(holds_pattern(h, 200, 300));
}

TEST(WindowCounts, ASecondSendersSinglePacketHeapOfACountInUseIsRefused) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).from(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).from(2).whole(50)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).from(2).whole(300)), inconsistent) << "a partial overlap";
    EXPECT_EQ(rig.counters.heaps_started, 1U);
}

}  // namespace
}  // namespace spead::heap::test
