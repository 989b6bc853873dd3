// SPDX-License-Identifier: BSD-3-Clause
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests heaps that claim the same count. Each keeps its packets until one has shown that it is right. The
/// losers count as if they had been refused at once.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

WindowConfig guarded_rivals() {
    WindowConfig c = small_window();
    c.guarded = true;
    return c;
}

/// Makes packet `n` of a heap of 1000 bytes in five packets.
Packet good(std::uint64_t key, std::uint64_t n) {
    return Packet(key).of(1000).at(n * 200, 200);
}

void expect_only_the_heap(Rig& rig, std::uint64_t key) {
    const HeapHandle heap = rig.pop();
    ASSERT_TRUE(heap);
    EXPECT_EQ(heap.cnt(), key);
    EXPECT_TRUE(heap.complete());
    EXPECT_EQ(heap.payload().size(), 1000U);
    EXPECT_TRUE(holds_pattern(heap));
    EXPECT_FALSE(rig.pop());
}

TEST(Rivals, AForgedLengthThatComesFirstIsRefusedWhenTheHeapIsComplete) {
    for (const std::uint64_t claims : {1U, 2U}) {
        SCOPED_TRACE(claims);
        Rig rig(guarded_rivals());
        for (std::uint64_t n = 0; n < claims; n++)
            EXPECT_EQ(rig.give(Packet(7).of(2000).at(n * 200, 200, 1)), placed);
        for (std::uint64_t n = 0; n < 5; n++)
            EXPECT_EQ(rig.give(good(7, n)), placed);
        expect_only_the_heap(rig, 7);
        EXPECT_EQ(rig.packets(placed), 5U);
        EXPECT_EQ(rig.packets(inconsistent), claims);
        EXPECT_EQ(rig.counters.heaps_started, 1U);
        EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
        EXPECT_EQ(rig.ended(HeapEnd::evicted), 0U);
        EXPECT_EQ(rig.counters.heaps_ghosts, 0U);
    }
}

TEST(Rivals, AnotherFlavourIsAnotherClaim) {
    Rig rig(guarded_rivals());
    EXPECT_EQ(rig.give(Packet(7).of(1000).at(0, 200, 1).flavour(48)), placed);
    for (std::uint64_t n = 0; n < 5; n++)
        EXPECT_EQ(rig.give(good(7, n)), placed);
    expect_only_the_heap(rig, 7);
    EXPECT_EQ(rig.packets(inconsistent), 1U);
}

TEST(Rivals, WhatHasShownItselfIsContradictedInVain) {
    Rig rig(guarded_rivals());
    for (std::uint64_t n = 0; n < 3; n++)
        EXPECT_EQ(rig.give(good(7, n)), placed);
    EXPECT_EQ(rig.give(Packet(7).of(2000).at(600, 200, 1)), inconsistent);
    EXPECT_EQ(rig.give(Packet(7).of(1000).at(600, 200, 1).flavour(48)), inconsistent);
    for (std::uint64_t n = 3; n < 5; n++)
        EXPECT_EQ(rig.give(good(7, n)), placed);
    expect_only_the_heap(rig, 7);
}

TEST(Rivals, ThereIsAnEndToTheClaimsToOneCount) {
    Rig rig(guarded_rivals());
    for (std::uint64_t n = 0; n < 100; n++)
        rig.give(Packet(7).of(2000 + n).at(0, 200, 1));
    EXPECT_LE(rig.counters.heaps_live, 16U);
    for (std::uint64_t n = 0; n < 5; n++)
        EXPECT_EQ(rig.give(good(7, n)), placed);
    std::uint64_t complete = 0;
    while (const HeapHandle heap = rig.pop()) {
        complete += heap.complete() ? 1 : 0;
        EXPECT_TRUE(!heap.complete() || holds_pattern(heap));
    }
    EXPECT_EQ(complete, 1U);
    EXPECT_EQ(rig.counters.heaps_live, 0U) << "nothing is left that claims the count";
}

/// Tests packets in any order, with copies of any of them outstanding.
TEST(Rivals, TheHeapComesThroughAndNothingElse) {
    for (std::uint64_t seed = 1; seed <= 20; seed++) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        Rig rig(guarded_rivals(), {.arena = 8 * kMiB, .queue_heaps = 64, .largest = 256 * kKiB});
        std::uint64_t forged = 0;
        for (std::uint64_t key = 1; key <= 200; key++) {
            // The packets of each claim stay in order: its first ones come before the claims can be
            // distinguished.
            std::vector<std::vector<Packet>> claims(1 + random() % 4);
            for (std::uint64_t n = 0; n < 5; n++)
                claims[0].push_back(good(key, n));
            for (std::size_t c = 1; c < claims.size(); c++) {
                const bool flavour = c == 3;
                for (std::uint64_t n = 0; n < 1 + random() % 2; n++, forged++)
                    claims[c].push_back(Packet(key)
                                            .of(flavour ? 1000 : 1000 + 1000 * c)
                                            .at(n * 100, 100, c)
                                            .flavour(flavour ? 48 : 40));
            }
            std::vector<std::size_t> at(claims.size());
            for (std::size_t left = claims.size(); left != 0;) {
                const std::size_t c = random() % claims.size();
                if (at[c] == claims[c].size())
                    continue;
                rig.accept(claims[c][at[c]++].time(key));
                left -= at[c] == claims[c].size() ? 1 : 0;
                if (random() % 3 == 0) {
                    rig.commit();
                    rig.hand_over();
                }
            }
            rig.commit();
            rig.hand_over();
            rig.now++;
            std::uint64_t whole = 0;
            while (const HeapHandle heap = rig.pop()) {
                EXPECT_EQ(heap.cnt(), key);
                EXPECT_TRUE(heap.complete());
                EXPECT_TRUE(holds_pattern(heap));
                whole++;
            }
            EXPECT_EQ(whole, 1U) << "of heap " << key;
        }
        EXPECT_EQ(rig.packets(placed), 1000U);
        EXPECT_EQ(rig.packets(placed) + rig.packets(inconsistent) + rig.packets(duplicate), 1000 + forged);
    }
}

}  // namespace
}  // namespace spead::heap::test
