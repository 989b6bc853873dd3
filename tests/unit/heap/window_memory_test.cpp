// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "heap/item_words.hpp"
#include "tests/support/heap_rig.hpp"

/// Tests a lack of room for a heap, for its ranges and for its record. Tests that room comes back.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

TEST(WindowMemory, WithoutRoomTheFirstAndEveryLaterPacketOfAHeapIsNoMemory) {
    Rig rig(small_window(), {.quota = 128 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.give(Packet(2).whole(64 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.give(Packet(3).of(1000).at(0, 500)), no_memory);
    rig.release();
    rig.reclaim();
    EXPECT_EQ(rig.give(Packet(3).of(1000).at(500, 500)), no_memory) << "it would start in the middle";
    EXPECT_EQ(rig.give(Packet(3).of(1000).at(0, 500)), no_memory);
    EXPECT_EQ(rig.give(Packet(4).of(1000).at(0, 500)), placed) << "there is room for another";
    EXPECT_EQ(rig.counters.heaps_started, 3U);
}

TEST(WindowMemory, ARefusedHeapIsForgottenWithTheHistory) {
    WindowConfig c = small_window();
    c.history_ticks = 100;
    Rig rig(c, {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB).time(1)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(8).time(1)), no_memory);
    pop_counts(rig);
    rig.reclaim();
    EXPECT_EQ(rig.give(Packet(2).whole(8).time(101)), no_memory);
    EXPECT_EQ(rig.give(Packet(2).whole(8).time(102)), placed);
}

TEST(WindowMemory, ARefusedHeapIsRememberedEvenWithoutAHistory) {
    WindowConfig c = small_window();
    c.history = 0;
    Rig rig(c, {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(0, 500)), no_memory);
    pop_counts(rig);
    rig.reclaim();
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(500, 500)), no_memory);
}

TEST(WindowMemory, ARefusedHeapMayBeginAnewWithoutAHistoryWherePacketsComeInOrder) {
    WindowConfig c = small_window();
    c.history = 0;
    c.in_order = true;
    Rig rig(c, {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(0, 500)), no_memory);
    pop_counts(rig);
    rig.reclaim();
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(500, 500)), no_memory) << "it would start in the middle";
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(0, 500)), placed) << "its sender begins anew";
    EXPECT_EQ(rig.give(Packet(2).of(1000).at(500, 500)), placed);
}

TEST(WindowMemory, ThatAConsumerHasGivenBackIsFoundWithoutWaitingForHousekeeping) {
    Rig rig(small_window(), {.quota = 64 * kKiB});
    for (std::uint64_t k = 0; k < 100; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
        ASSERT_EQ(pop_counts(rig), std::vector<std::uint64_t>{k});
    }
}

TEST(WindowMemory, ThatAConsumerGaveBackLastIsTakenByTheNextLargeHeap) {
    Rig rig;
    const auto give = [&rig](std::uint64_t key) {
        EXPECT_EQ(rig.give(Packet(key).of(64 * kKiB).at(0, 32 * kKiB)), placed);
        EXPECT_EQ(rig.give(Packet(key).of(64 * kKiB).at(32 * kKiB, 32 * kKiB)), placed);
    };
    give(1);
    const std::byte* last = nullptr;
    for (std::uint64_t key = 2; key < 20; key++) {
        {
            const HeapHandle heap = rig.pop();
            EXPECT_TRUE(key == 2 || heap.payload().data() == last) << "heap " << key - 1;
            EXPECT_TRUE(holds_pattern(heap));
            last = heap.payload().data();
        }
        give(key);
    }
}

TEST(WindowMemory, OfHeapsThatNeverFinishIsGivenToNewerOnes) {
    // Four forged first packets take all there is. Good heaps that come after them must not be refused for
    // ever: the window moves on with every heap that begins, room or not.
    WindowConfig c = small_window();
    c.max_live = 4;
    Rig rig(c, {.quota = 256 * kKiB});
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.give(Packet(1'000'000 + k).of(64 * kKiB).at(0, 8)), placed);
    std::uint64_t refused = 0;
    for (std::uint64_t k = 0; k < 50; k++) {
        refused += rig.give(Packet(k).whole(32 * kKiB)) == no_memory;
        pop_counts(rig);
    }
    EXPECT_LE(refused, 2U);
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 4U);
}

TEST(WindowMemory, OfUnsizedHeapsIsGivenToNewerOnes) {
    Rig rig(small_window(), {.quota = 64 * kKiB});
    std::uint64_t refused = 0;
    for (std::uint64_t k = 0; k < 100; k++) {
        refused += rig.give(Packet(k).at(0, 100)) == no_memory;
        pop_counts(rig);
    }
    EXPECT_LE(refused, 20U);
}

TEST(WindowMemory, ARefusedPacketChangesNothingInAHeapThatIsLive) {
    Rig rig(small_window(), {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).of(64 * kKiB).at(0, 1000)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(8)), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(64 * kKiB).at(1000, 64 * kKiB - 1000)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowMemory, FullCoverageRefusesThePacketAndTheHeapGoesOn) {
    // Every other byte, from the front: as many ranges as there may be.
    WindowConfig c = small_window();
    Rig rig(c, {.arena = 4 * kMiB});
    const std::uint64_t length = 2 * (kMaxRanges + 2);
    for (std::uint64_t i = 0; i < kMaxRanges; i++)
        ASSERT_EQ(rig.give(Packet(1).of(length).at(2 * i + 1, 1)), placed) << i;
    EXPECT_EQ(rig.give(Packet(1).of(length).at(length - 2, 1, 9)), no_memory) << "one range too many";
    EXPECT_EQ(rig.give(Packet(1).of(length).at(length - 2, 1, 9).items({4})), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(length).at(1, 1)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).of(length).at(0, 2)), inconsistent);
    for (std::uint64_t i = 0; i < kMaxRanges; i++)
        ASSERT_EQ(rig.give(Packet(1).of(length).at(2 * i, 1)), placed) << "a hole filled needs no range";
    EXPECT_EQ(rig.give(Packet(1).of(length).at(2 * kMaxRanges, 4)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_TRUE(h.item_words().empty());
}

TEST(WindowMemory, CoverageThatCannotGrowForLackOfMemoryRefusesThePacketOnly) {
    WindowConfig c = small_window();
    c.books_bytes = 128 * kKiB;
    Rig rig(c);
    hold_books(rig, 9, 128 * kKiB);
    for (std::uint64_t i = 0; i < Record::kInlineRanges; i++)
        EXPECT_EQ(rig.give(Packet(1).of(200).at(2 * i + 1, 1)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 1)), no_memory);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 1)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 1)), placed) << "a range has become free";
}

TEST(WindowMemory, RecordsThatAConsumerHoldsAreMissedAndComeBack) {
    WindowConfig c = small_window();
    Rig rig(c, {.queue_heaps = 4});
    const std::size_t records = Window::records_needed(c, 4);
    for (std::uint64_t k = 0; k < records; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(8)), placed) << k;
        rig.hold();
    }
    EXPECT_EQ(rig.window().records_out(), records);
    EXPECT_EQ(rig.give(Packet(5000).whole(8)), no_memory);
    EXPECT_EQ(rig.give(Packet(5000).whole(8)), no_memory);
    rig.release();
    EXPECT_EQ(rig.give(Packet(5001).whole(8)), placed);
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{5001});
}

TEST(WindowMemory, OfABatchIsEnoughWhateverEndsInIt) {
    // The worst batch: every packet ends a heap and evicts another, the queue and the consumer are full.
    WindowConfig c = small_window();
    c.max_live = Window::kMaxBatch;
    Rig rig(c, {.queue_heaps = 8});
    std::uint64_t key = 0;
    for (int i = 0; i < 8; i++) {
        ASSERT_EQ(rig.give(Packet(key++).whole(8)), placed);
        rig.hold();
    }
    for (int i = 0; i < 8; i++)
        ASSERT_EQ(rig.give(Packet(key++).whole(8)), placed);
    for (std::size_t i = 0; i < Window::kMaxBatch; i++)
        ASSERT_EQ(rig.give(Packet(key++).of(16).at(0, 8)), placed);
    for (int round = 0; round < 3; round++) {
        for (std::size_t i = 0; i < Window::kMaxBatch; i++)
            ASSERT_EQ(rig.accept(Packet(key++).whole(8)), placed);
        rig.commit();
        rig.hand_over();
    }
    EXPECT_EQ(rig.packets(no_memory), 0U);
}

TEST(WindowMemory, IsSharedWithinTheQuotaOfEachWindow) {
    memory::Arena arena(2 * kMiB, 64 * kKiB);
    WindowConfig c = small_window();
    const std::size_t records = Window::records_needed(c, 64);
    stats::StreamCounters greedy_counters;
    stats::StreamCounters modest_counters;
    HeapQueue greedy_queue(64, records);
    HeapQueue modest_queue(64, records);
    Window greedy(c, PoolPlacer(arena, kMiB), greedy_queue, greedy_counters);
    Window modest(c, PoolPlacer(arena, kMiB), modest_queue, modest_counters);
    for (std::uint64_t k = 0; k < 100; k++) {
        const Packet p = Packet(k).whole(64 * kKiB);
        greedy.accept(p.view());
        greedy.commit();
        greedy.hand_over(1);
    }
    EXPECT_EQ(arena.in_use(), greedy.placer().out());
    EXPECT_LE(greedy.placer().out(), kMiB);
    EXPECT_EQ(modest.accept(Packet(1).whole(64 * kKiB).view()).outcome, placed);
    modest.commit();
    modest.hand_over(1);
    for (HeapQueue* q : {&greedy_queue, &modest_queue})
        while (HeapHandle h = q->try_pop()) {
        }
    greedy.reclaim();
    modest.reclaim();
    EXPECT_EQ(arena.in_use(), 0U);
}

/// Tests a stream that waits for its consumer. It keeps its reservation for live heaps, so that waiting is
/// enough. Neither it nor its neighbour ever lacks memory.
TEST(WindowMemory, IsEnoughForEveryStreamThatWaitsForItsConsumer) {
    memory::Arena arena(kMiB, 64 * kKiB);
    Reservations reservations(arena.capacity());
    WindowConfig c = small_window();
    c.max_live = 4;
    c.max_heap_bytes = 64 * kKiB;
    c.on_full = FullPolicy::block;
    const std::size_t records = Window::records_needed(c, 64);
    std::array<stats::StreamCounters, 2> counters;
    HeapQueue slow_queue(64, records);
    HeapQueue quick_queue(64, records);
    reservations.reserve(512 * kKiB);
    reservations.reserve(512 * kKiB);
    Window slow(c, PoolPlacer(arena, reservations, 512 * kKiB), slow_queue, counters[0]);
    Window quick(c, PoolPlacer(arena, reservations, 512 * kKiB), quick_queue, counters[1]);

    std::vector<HeapHandle> held;
    std::uint64_t next = 0;
    const auto feed = [](Window& w, std::uint64_t group) {
        for (std::size_t at = 0; at < 64 * kKiB; at += kKiB)
            for (std::uint64_t member = 0; member < 4; member++) {
                const Packet p = Packet(group * 4 + member).of(64 * kKiB).at(at, kKiB);
                ASSERT_EQ(w.accept(p.view()).outcome, placed) << "group " << group;
                w.commit();
            }
        w.hand_over(1);
    };
    for (std::uint64_t key = 0; key < 200; key++) {
        // The slow consumer takes a heap now and then, and holds two.
        if (!slow.blocked()) {
            ASSERT_NO_FATAL_FAILURE(feed(slow, next++));
        }
        if (key % 3 == 0) {
            held.push_back(slow_queue.try_pop());
            if (held.size() > 2)
                held.erase(held.begin());
            slow.reclaim();
            slow.hand_over(1);
        }
        ASSERT_NO_FATAL_FAILURE(feed(quick, key));
        while (quick_queue.try_pop()) {
        }
        quick.reclaim();
    }
    EXPECT_LT(next, 100U) << "the slow one was to wait";
    for (const stats::StreamCounters& k : counters)
        EXPECT_EQ(k[no_memory], 0U);
    held.clear();
}

}  // namespace
}  // namespace spead::heap::test
