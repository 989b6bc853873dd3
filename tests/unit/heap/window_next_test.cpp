// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests the short way for the usual packet: its packets, and those that it must leave to accept().
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

/// Returns whether the short way took the packet. If so, it is counted, copied and committed.
bool taken(Rig& rig, const Packet& p) {
    Record* const r = rig.window().accept_next(p.view());
    if (r == nullptr)
        return false;
    std::memcpy(r->base + p.view().offset, p.payload().data(), p.payload().size());
    rig.window().commit();
    rig.check();
    return true;
}

TEST(WindowNext, TakesTheNextBytesOfALiveHeap) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(400).at(0, 100).items({1, 2})), placed);
    EXPECT_TRUE(taken(rig, Packet(1).of(400).at(100, 100)));
    EXPECT_TRUE(taken(rig, Packet(1).of(400).at(200, 100).items({1, 2}).time(9)));
    EXPECT_EQ(rig.packets(placed), 3U);
    EXPECT_EQ(rig.counters.bytes, 300U);
    EXPECT_EQ(rig.give(Packet(1).of(400).at(300, 100).time(10)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(h.packets(), 4U);
    EXPECT_EQ(words_of(h), (std::vector<std::uint64_t>{1, 2}));
}

TEST(WindowNext, TakesPacketsOfInterleavedHeaps) {
    Rig rig;
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.give(Packet(k).of(1000).at(0, 100)), placed);
    for (std::uint64_t i = 1; i < 9; i++)
        for (std::uint64_t k = 0; k < 4; k++)
            EXPECT_TRUE(taken(rig, Packet(k).of(1000).at(i * 100, 100)));
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.give(Packet(k).of(1000).at(900, 100)), placed);
    for (std::uint64_t k = 0; k < 4; k++) {
        const HeapHandle h = rig.pop();
        EXPECT_TRUE(h.complete());
        EXPECT_TRUE(holds_pattern(h));
    }
}

TEST(WindowNext, LeavesEverythingUnusualToAccept) {
    Rig rig;
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(0, 100))) << "a first packet";
    EXPECT_EQ(rig.give(Packet(1).of(400).at(0, 100).items({1, 2})), placed);
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(0, 100))) << "a repeat";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(200, 100))) << "a hole";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 300))) << "the last bytes";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(50, 100))) << "an overlap";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 0).items({1}))) << "no bytes";
    EXPECT_FALSE(taken(rig, Packet(1).of(500).at(100, 100))) << "another length";
    EXPECT_FALSE(taken(rig, Packet(1).at(100, 100))) << "no length";
    EXPECT_FALSE(taken(rig, Packet(1).flavour(48).of(400).at(100, 100))) << "another flavour";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100).items({3}))) << "a new item";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100).items({2, 1}))) << "known items otherwise";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100).items({1, 2, 3}))) << "more items";
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100).stop())) << "stream control";
    EXPECT_EQ(rig.packets(placed), 1U);
    EXPECT_EQ(rig.counters.bytes, 100U);
    EXPECT_EQ(rig.give(Packet(1).of(400).at(200, 100)), placed);
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100))) << "a heap with ranges";
}

TEST(WindowNext, LeavesFinishedHeapsToAccept) {
    WindowConfig c = small_window();
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.give(Packet(1).of(400).at(0, 100)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(200).at(0, 100)), placed);
    EXPECT_FALSE(taken(rig, Packet(1).of(400).at(100, 100))) << "given up";
    EXPECT_EQ(rig.give(Packet(2).of(200).at(100, 100)), placed);
    EXPECT_FALSE(taken(rig, Packet(2).of(200).at(0, 100))) << "done";
}

TEST(WindowNext, StaysWithinTheBlockOfAnUnsizedHeap) {
    Rig rig;
    const std::uint64_t limit = 64 * kKiB;
    std::uint64_t at = 0;
    for (; at + 1000 <= limit; at += 1000)
        ASSERT_EQ(rig.give(Packet(1).at(at, 1000)), placed) << at;
    EXPECT_FALSE(taken(rig, Packet(1).at(at, 1000)));
    EXPECT_EQ(rig.give(Packet(1).at(at, 1000)), heap_too_big);
    rig.flush();
    EXPECT_TRUE(holds_pattern(rig.pop()));
}

TEST(WindowNext, StaysWithinTheBlockOfAnUnsizedHeapThatGotLessThanTheLargest) {
    Rig rig(small_window(), {.quota = 16 * kKiB});
    std::uint64_t at = 0;
    while (rig.give(Packet(1).at(at, 1000)) == placed) {
        at += 1000;
        ASSERT_LE(at, 16 * kKiB);
    }
    EXPECT_FALSE(taken(rig, Packet(1).at(at, 1000)));
    EXPECT_EQ(rig.give(Packet(1).at(at, 1000)), no_memory);
}

TEST(WindowNext, TakesNothingAfterAStopInTheSameBatch) {
    WindowConfig c = small_window();
    c.stop_on_stop_item = true;
    Rig rig(c);
    EXPECT_EQ(rig.accept(Packet(1).of(400).at(0, 100)), placed);
    EXPECT_EQ(rig.accept(Packet(2).of(400).at(0, 100)), placed);
    EXPECT_EQ(rig.accept(Packet(3).whole(1).stop()), control);
    EXPECT_EQ(rig.window().accept_next(Packet(2).of(400).at(100, 100).view()), nullptr);
    EXPECT_EQ(rig.window().accept_next(Packet(1).of(400).at(100, 100).view()), nullptr);
    EXPECT_EQ(rig.accept(Packet(2).of(400).at(100, 100)), stopped);
    rig.commit();
}

}  // namespace
}  // namespace spead::heap::test
