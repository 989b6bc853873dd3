// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>

#include <gtest/gtest.h>

#include "heap/item_words.hpp"
#include "tests/support/heap_rig.hpp"

/// Tests item pointers: where they may point, packets of nothing else, and more of them than there is room
/// for.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;
using Words = std::vector<std::uint64_t>;

Words counted(std::uint64_t from, std::size_t count) {
    Words out(count);
    std::iota(out.begin(), out.end(), from);
    return out;
}

TEST(WindowItems, AreKeptInOrderOfArrivalAndOnce) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({5, 3})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 100).items({3, 9})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100).items({9, 5, 1})), placed);
    EXPECT_EQ(words_of(rig.pop()), (Words{5, 3, 9, 1}));
}

TEST(WindowItems, RepeatedInOnePacketAreKeptOnce) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(100).items({5, 5, 3, 5})), placed);
    EXPECT_EQ(words_of(rig.pop()), (Words{5, 3}));
    EXPECT_EQ(rig.give(Packet(2).of(200).at(0, 100).items({4})), placed);
    EXPECT_EQ(rig.give(Packet(2).of(200).at(100, 100).items({4, 6, 6})), placed);
    EXPECT_EQ(words_of(rig.pop()), (Words{4, 6}));
}

TEST(WindowItems, RepeatedInEveryPacketAreKeptOnce) {
    Rig rig;
    const Words words = counted(100, 40);
    for (std::uint64_t i = 0; i < 10; i++)
        EXPECT_EQ(rig.give(Packet(1).of(1000).at(i * 100, 100).items(words)), placed);
    EXPECT_EQ(words_of(rig.pop()), words);
}

TEST(WindowItems, AtTheHeapsEndAreFine) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(100).items({1}).pointing_at(100)), placed);
    const HeapHandle one = rig.pop();
    EXPECT_TRUE(one.complete());
    EXPECT_FALSE(one.item_past_end());
    EXPECT_EQ(rig.give(Packet(2).of(200).at(0, 100).items({1}).pointing_at(200)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(200).at(100, 100)), placed);
    EXPECT_TRUE(rig.pop().complete());
}

TEST(WindowItems, PastTheEndOfASinglePacketHeapMakeItEndIncompleteWithThatReason) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).whole(100).items({1}).pointing_at(101)), placed);
    EXPECT_EQ(rig.queued(), 0U);
    EXPECT_EQ(rig.give(Packet(1).whole(100).items({1}).pointing_at(101)), duplicate);
    rig.flush();
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_EQ(h.end(), HeapEnd::flushed);
    EXPECT_FALSE(h.complete());
    EXPECT_FALSE(h.contiguous());
    EXPECT_TRUE(h.item_past_end());
    EXPECT_TRUE(h.missing().empty());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowItems, PastTheEndInAnyPacketMakeTheHeapEndIncomplete) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100).items({1}).pointing_at(0)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100).items({2}).pointing_at(201)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_FALSE(h.complete());
    EXPECT_TRUE(h.item_past_end());
    EXPECT_EQ(h.received(), 200U);
}

TEST(WindowItems, PastAnyEndDoNotOverflow) {
    Rig rig;
    const std::uint64_t farthest = (std::uint64_t{1} << 56) - 1;
    EXPECT_EQ(rig.give(Packet(1).flavour(56).whole(100).items({1}).pointing_at(farthest)), placed);
    EXPECT_EQ(rig.give(Packet(2).flavour(56).at(0, 100).items({1}).pointing_at(farthest)), placed);
    EXPECT_EQ(rig.give(Packet(3).flavour(56).of(0).items({1}).pointing_at(farthest)), placed);
    rig.flush();
    for (int i = 0; i < 3; i++) {
        const HeapHandle h = rig.pop();
        ASSERT_TRUE(h);
        EXPECT_FALSE(h.complete());
        EXPECT_FALSE(h.contiguous());
    }
}

TEST(WindowItems, PastWhatAnUnsizedHeapHoldsMakeItNotContiguous) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100).items({1}).pointing_at(101)), placed);
    EXPECT_EQ(rig.give(Packet(2).at(0, 100).items({1}).pointing_at(100)), placed);
    rig.flush();
    EXPECT_FALSE(rig.pop().contiguous());
    EXPECT_TRUE(rig.pop().contiguous());
}

TEST(WindowItems, PastTheLengthThatAnUnsizedHeapIsToldLaterMakeItEndIncomplete) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).at(0, 100).items({1}).pointing_at(250)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    rig.flush();
    const HeapHandle h = rig.pop();
    EXPECT_FALSE(h.complete());
    EXPECT_TRUE(h.item_past_end());
}

TEST(WindowItems, OfARefusedPacketAreNotTaken) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 100).items({2}).pointing_at(999)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(50, 100).items({3}).pointing_at(999)), inconsistent);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 200)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_EQ(words_of(h), Words{1});
}

TEST(WindowPointersOnly, MergeWithTheHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(100).items({1, 2})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({3})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 100).items({4})), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_EQ(words_of(h), (Words{1, 2, 3, 4}));
    EXPECT_EQ(h.packets(), 3U);
}

TEST(WindowPointersOnly, AtAnOffsetThatHasArrivedAreStillTaken) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 200)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 0).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(100, 0).items({2})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(300).at(200, 100)), placed);
    EXPECT_EQ(words_of(rig.pop()), (Words{1, 2}));
}

TEST(WindowPointersOnly, ThatAreAllKnownAreADuplicate) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(100).items({1, 2, 3})), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({1, 2, 3})), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({3, 1})), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({2})), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(100)), duplicate) << "nothing at all";
    EXPECT_EQ(rig.give(Packet(1).of(100).items({2, 4})), placed) << "one of them is new";
}

TEST(WindowPointersOnly, NeedNoCommit) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).of(100).items({1})), placed);
    rig.flush();
    EXPECT_EQ(rig.queued(), 1U) << "no copy is outstanding";
}

TEST(WindowItemTable, HoldsItsLimitExactly) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(100).items(counted(0, kMaxItems))), placed);
    EXPECT_EQ(rig.give(Packet(1).of(100).items({kMaxItems})), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 100)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_EQ(words_of(h), counted(0, kMaxItems));
}

TEST(WindowItemTable, ThatIsFullRefusesThePacketWholeAndTheHeapLivesOn) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100).items(counted(0, kMaxItems))), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100, 9).items({kMaxItems + 1}).pointing_at(999)), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(h.item_words().size(), kMaxItems);
}

TEST(WindowItemTable, ThatIsFullStillKnowsARepeat) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(200).items(counted(0, kMaxItems))), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).items(counted(0, 100))), duplicate);
}

TEST(WindowItemTable, GrowsFromInlineToABlockWithoutLosingWords) {
    for (const std::size_t step : {1U, 3U, 16U, 17U, 63U, 64U, 65U, 100U}) {
        Rig rig;
        Words all;
        for (std::uint64_t at = 0; all.size() < 1000; at += step) {
            const Words next = counted(at, step);
            all.insert(all.end(), next.begin(), next.end());
            ASSERT_EQ(rig.give(Packet(1).of(100).items(next)), placed);
        }
        EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 100).items(all)), placed);
        ASSERT_EQ(words_of(rig.pop()), all) << "in steps of " << step;
    }
}

/// Returns a window with books for one heap with as many items as there may be.
WindowConfig few_books() {
    WindowConfig c = small_window();
    c.books_bytes = 128 * kKiB;
    return c;
}

TEST(WindowItemTable, WithoutMemoryForItsBlockRefusesTheFirstPacketAndTheHeap) {
    Rig rig(few_books());
    hold_books(rig, 9, 128 * kKiB);
    const std::size_t before = rig.arena().in_use();
    EXPECT_EQ(rig.give(Packet(1).of(600).at(0, 100).items(counted(0, 17))), no_memory);
    EXPECT_EQ(rig.arena().in_use(), before);
    EXPECT_EQ(rig.give(Packet(1).of(600).at(100, 100)), no_memory) << "its later packets too";
    EXPECT_EQ(rig.counters.heaps_started, 1U);
}

TEST(WindowItemTable, WithoutMemoryForItsBlockRefusesALaterPacketWhole) {
    Rig rig(few_books());
    hold_books(rig, 9, 128 * kKiB);
    EXPECT_EQ(rig.give(Packet(1).of(600).at(0, 100).items(counted(0, 16))), placed);
    EXPECT_EQ(rig.give(Packet(1).of(600).at(100, 500, 9).items({77})), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(600).at(100, 500)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

}  // namespace
}  // namespace spead::heap::test
