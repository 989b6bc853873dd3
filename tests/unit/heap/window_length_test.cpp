// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests HEAP_LENGTH: absent, late, contradicted, zero, too large. Tests heaps that never give one.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

TEST(WindowLength, MissingOnSomePacketsIsTakenFromTheFirstThatHasIt) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).at(200, 100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_EQ(h.length(), 300U);
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowLength, ToldOnlyByTheLastPacketCompletesTheHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).at(100, 100)), placed);
    EXPECT_EQ(rig.queued(), 0U);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h.complete());
    EXPECT_EQ(h.length(), 300U);
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowLength, ToldByAPacketWithoutPayloadCompletesTheHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowLength, ToldByAPacketOfKnownItemPointersIsTaken) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100).items({1, 2, 3})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({3, 2})), placed) << "the length was news";
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowLength, ChangingIsInconsistentAndTheFirstStands) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(301).at(100, 100)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).of(299).at(100, 100)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 200)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowLength, ChangingIsInconsistentEvenForARepeatOfTheSameBytes) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), inconsistent);
}

TEST(WindowLength, SmallerThanWhatHasArrivedIsInconsistent) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(199).at(0, 100)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowLength, IsNotAdoptedFromAPacketThatIsRefused) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(50, 100)), inconsistent) << "a partial overlap";
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed) << "500 did not stick";
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowLength, APacketWithoutItThatReachesPastTheHeapsEndIsInconsistent) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).at(201, 100)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).at(5000, 1)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).at(std::uint64_t{1} << 39, 100)), heap_too_big);
    EXPECT_EQ(rig.give(Packet(1).at(100, 200)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowLength, AboveTheLimitIsTooBigWithoutAnAllocation) {
    Rig rig;
    const std::uint64_t limit = 64 * kKiB;
    EXPECT_EQ(rig.give(Packet(1).of(limit + 1).at(0, 100)), heap_too_big);
    EXPECT_EQ(rig.give(Packet(2).of((std::uint64_t{1} << 56) - 1).at(0, 100)), heap_too_big);
    EXPECT_EQ(rig.give(Packet(3).of(kUnknownLength - 1).at(0, 100)), heap_too_big);
    EXPECT_EQ(rig.give(Packet(4).at(limit - 99, 100)), heap_too_big)
        << "length unknown, bytes past the limit";
    EXPECT_EQ(rig.give(Packet(5).at((std::uint64_t{1} << 56) - 1, 100)), heap_too_big);
    EXPECT_EQ(rig.arena().in_use(), 0U);
    EXPECT_EQ(rig.counters.heaps_started, 0U);
    EXPECT_EQ(rig.give(Packet(6).of(limit).at(0, 100)), placed) << "the limit itself is allowed";
    EXPECT_EQ(rig.give(Packet(7).at(limit - 100, 100)), placed);
}

TEST(WindowLength, AboveTheLimitLeavesALiveHeapOfThatCountAlone) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(std::uint64_t{1} << 40).at(100, 100)), heap_too_big);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowLength, OfZeroIsACompleteHeapAtOnce) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(0).items({7, 8})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(0).items({7, 8})), duplicate);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(h.contiguous());
    EXPECT_EQ(h.length(), 0U);
    EXPECT_TRUE(h.payload().empty());
    EXPECT_TRUE(h.missing().empty());
    EXPECT_EQ(words_of(h), (std::vector<std::uint64_t>{7, 8}));
}

TEST(WindowLength, OfZeroNeedsNoCommit) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).of(0).items({7})), placed);
    EXPECT_TRUE(rig.window().has_ended());
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
}

TEST(WindowUnsized, AHeapWithoutLengthIsDeliveredAtTheFlush) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).at(100, 50)), placed);
    EXPECT_EQ(rig.queued(), 0U);
    rig.flush();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.end(), HeapEnd::flushed);
    EXPECT_FALSE(h.complete());
    EXPECT_TRUE(h.contiguous());
    EXPECT_FALSE(h.has_length());
    EXPECT_EQ(h.length(), kUnknownLength);
    EXPECT_EQ(h.extent(), 150U);
    EXPECT_EQ(h.payload().size(), 150U);
    EXPECT_TRUE(h.missing().empty());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowUnsized, AHeapWithoutLengthIsDeliveredWhenEvicted) {
    WindowConfig c = small_window();
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(2).at(0, 100)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.cnt(), 1U);
    EXPECT_EQ(h.end(), HeapEnd::evicted);
    EXPECT_TRUE(h.contiguous());
    EXPECT_TRUE(holds_pattern(h, 0, 100));
}

TEST(WindowUnsized, AHeapWithoutLengthIsDeliveredWhenItTimesOut) {
    WindowConfig c = small_window();
    c.timeout_ticks = 10;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).at(0, 100).time(1)), placed);
    rig.expire(12);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.end(), HeapEnd::timed_out);
    EXPECT_TRUE(h.contiguous());
}

TEST(WindowUnsized, AHoleMakesItNotContiguous) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).at(150, 50)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_FALSE(h.contiguous());
    EXPECT_EQ(h.extent(), 200U);
    EXPECT_EQ(h.received(), 150U);
    EXPECT_EQ(h.missing(), ranges({{100, 150}}));
}

TEST(WindowUnsized, ItsBlockIsTrimmedToWhatCame) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.arena().in_use(), 64 * kKiB) << "room for the largest heap while it may still grow";
    rig.flush();
    EXPECT_EQ(rig.arena().in_use(), 1024U);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(holds_pattern(h, 0, 1000));
}

TEST(WindowUnsized, ItsBlockIsTrimmedAlsoWhenALaterPacketToldTheLength) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(2000).at(1000, 1000)), placed);
    EXPECT_EQ(rig.arena().in_use(), 2048U);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowUnsized, TrimmingLeavesCopiesOfTheSameBatchAlone) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.accept(Packet(1).of(2000).at(1000, 1000)), placed);
    for (std::uint64_t k = 2; k < 40; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(2000)), placed);
    rig.commit();
    rig.hand_over();
    for (std::uint64_t k = 1; k < 40; k++) {
        const HeapHandle h = rig.pop();
        EXPECT_EQ(h.cnt(), k);
        EXPECT_TRUE(h.complete());
        EXPECT_TRUE(holds_pattern(h));
    }
}

TEST(WindowUnsized, PastTheRoomItWasGivenIsNoMemoryAndWhatFitsIsPlaced) {
    WindowConfig c = small_window();
    Rig rig(c, {.arena = 2 * kMiB, .quota = 40 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.arena().in_use(), 8 * kKiB) << "a fair share among five, four of them live";
    EXPECT_EQ(rig.give(Packet(1).at(9000, 1000)), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(32 * kKiB).at(1000, 1000)), no_memory) << "a length past its room";
    EXPECT_EQ(rig.give(Packet(1).of(2000).at(1000, 1000)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowUnsized, OfNoBytesAtAllIsDeliveredEmpty) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).items({1})), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.payload().empty());
    EXPECT_TRUE(h.contiguous());
    EXPECT_TRUE(h.missing().empty());
    EXPECT_EQ(words_of(h), std::vector<std::uint64_t>{1});
}

TEST(WindowFlavour, AnotherOneWithinAHeapIsInconsistent) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).flavour(40).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).flavour(48).of(200).at(100, 100).items({1})), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).flavour(48).of(200).at(0, 100)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).flavour(40).of(200).at(100, 100)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_EQ(h.flavour(), 40);
    EXPECT_TRUE(h.item_words().empty());
}

}  // namespace
}  // namespace spead::heap::test
