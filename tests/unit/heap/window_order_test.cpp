// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests packets in any order, packets in order only, and packets that never come.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

WindowConfig strict() {
    WindowConfig c = small_window();
    c.in_order = true;
    return c;
}

TEST(WindowOrder, EveryOrderOfFivePacketsGivesTheSameHeap) {
    std::array<std::uint64_t, 5> order{0, 1, 2, 3, 4};
    Rig rig;
    std::uint64_t key = 0;
    do {
        for (const std::uint64_t i : order)
            ASSERT_EQ(rig.give(Packet(key).of(500).at(i * 100, 100)), placed);
        const HeapHandle h = rig.pop();
        ASSERT_TRUE(h);
        EXPECT_EQ(h.cnt(), key);
        EXPECT_TRUE(h.complete());
        EXPECT_EQ(h.received(), 500U);
        EXPECT_TRUE(h.missing().empty());
        ASSERT_TRUE(holds_pattern(h));
        key++;
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(key, 120U);
}

TEST(WindowOrder, ReorderedPacketsAreCountedBesideTheOutcomes) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.counters.packets_reordered, 0U);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    EXPECT_EQ(rig.counters.packets_reordered, 1U);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    EXPECT_EQ(rig.counters.packets_reordered, 1U) << "it was the next byte";
}

TEST(WindowOrder, AHeapWhoseFirstPacketCameOutOfOrderCountsAsReordered) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    EXPECT_EQ(rig.counters.packets_reordered, 1U);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.counters.packets_reordered, 1U);
}

TEST(WindowOrder, AFirstPacketLostLeavesAHoleAtTheBeginning) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.end(), HeapEnd::flushed);
    EXPECT_FALSE(h.complete());
    EXPECT_FALSE(h.contiguous());
    EXPECT_EQ(h.missing(), ranges({{0, 100}}));
    EXPECT_EQ(h.received(), 200U);
    EXPECT_TRUE(holds_pattern(h, 100, 300));
}

TEST(WindowOrder, AMiddlePacketLostLeavesAHoleInTheMiddle) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.missing(), ranges({{100, 200}}));
    EXPECT_EQ(h.received(), 200U);
    EXPECT_TRUE(holds_pattern(h, 0, 100));
    EXPECT_TRUE(holds_pattern(h, 200, 300));
}

TEST(WindowOrder, ALastPacketLostLeavesAHoleAtTheEnd) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.missing(), ranges({{200, 300}}));
    EXPECT_EQ(h.payload().size(), 300U);
    EXPECT_EQ(h.extent(), 200U);
}

TEST(WindowInOrder, TheNextByteIsPlacedAndTheHeapCompletes) {
    Rig rig(strict());
    for (std::uint64_t i = 0; i < 5; i++)
        EXPECT_EQ(rig.give(Packet(1).of(500).at(i * 100, 100)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowInOrder, WithTheFirstPacketLostEveryOtherIsCountedAndNoHeapStarts) {
    Rig rig(strict());
    for (std::uint64_t i = 1; i < 5; i++)
        EXPECT_EQ(rig.give(Packet(1).of(500).at(i * 100, 100)), out_of_order);
    EXPECT_EQ(rig.counters.heaps_started, 0U);
    EXPECT_EQ(rig.packets(out_of_order), 4U);
}

TEST(WindowInOrder, AFirstPacketThatComesAfterAllStillStartsItsHeap) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), out_of_order);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowInOrder, WithAMiddlePacketLostTheHeapKeepsWhatCameBefore) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(500).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(200, 100)), out_of_order);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(300, 100)), out_of_order);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_EQ(h.received(), 100U);
    EXPECT_EQ(h.missing(), ranges({{100, 500}}));
}

TEST(WindowInOrder, ARepeatIsADuplicateAndNotOutOfOrder) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(500).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(100, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(0, 100)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(100, 100)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(150, 50)), duplicate);
}

TEST(WindowInOrder, AnOverlapThatReachesFurtherIsOutOfOrder) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(500).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(50, 100)), out_of_order);
    EXPECT_EQ(rig.give(Packet(1).of(500).at(100, 100)), placed);
}

TEST(WindowInOrder, ItemPointersOfARefusedPacketAreNotTaken) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100).items({2})), out_of_order);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({3})), duplicate);
    rig.flush();
    EXPECT_EQ(words_of(rig.pop()), std::vector<std::uint64_t>{1});
}

TEST(WindowInOrder, ItemPointersOfARefusedPacketDoNotMoveTheHeapsEnd) {
    Rig rig(strict());
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100).items({2}).pointing_at(301)), out_of_order);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 200)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

}  // namespace
}  // namespace spead::heap::test
