// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"

/// Tests the second half of a heap's way: commit, the hand-over queue, and a full queue.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;
using Counts = std::vector<std::uint64_t>;

WindowConfig on_full(FullPolicy policy) {
    WindowConfig c = small_window();
    c.on_full = policy;
    return c;
}

TEST(WindowCommit, ACompleteHeapIsHandedOverOnlyWhenItsCopyIsDone) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).whole(100)), placed);
    rig.hand_over();
    EXPECT_EQ(rig.queued(), 0U);
    EXPECT_TRUE(rig.window().has_ended());
    rig.commit();
    EXPECT_EQ(rig.queued(), 0U) << "commit alone does not hand over";
    rig.hand_over();
    EXPECT_FALSE(rig.window().has_ended());
    EXPECT_TRUE(holds_pattern(rig.pop()));
}

TEST(WindowCommit, AHeapWithoutACopyOfThisBatchNeedsNone) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).of(200).at(0, 100).time(1)), placed);
    rig.commit();
    EXPECT_EQ(rig.accept(Packet(2).whole(100).time(9)), placed);
    rig.flush();
    EXPECT_EQ(rig.queued(), 0U) << "it would overtake the other";
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), (Counts{2, 1}));
    EXPECT_EQ(rig.accept(Packet(3).of(200).at(0, 100).time(10)), placed);
    rig.commit();
    EXPECT_EQ(rig.accept(Packet(4).of(200).at(0, 100).time(19)), placed);
    rig.flush();
    EXPECT_EQ(pop_counts(rig), Counts{3}) << "all of its copies have been made";
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), Counts{4});
}

TEST(WindowCommit, MemoryOfAHeapIsNotReusedWhileACopyIsOutstanding) {
    // Every batch ends more heaps than queue, and all of them are dropped; every copy is made at the end of
    // its batch. Were memory freed in accept, a copy would land in another heap.
    WindowConfig c = on_full(FullPolicy::drop_newest);
    c.max_live = 2;
    Rig rig(c, {.arena = 2 * kMiB, .quota = 1 * kMiB, .queue_heaps = 3});
    std::uint64_t key = 0;
    for (int batch = 0; batch < 50; batch++) {
        for (int i = 0; i < 20; i++, key++) {
            ASSERT_EQ(rig.accept(Packet(key).of(4000).at(0, 2000)), placed);
            if (key % 3 != 0) {
                ASSERT_EQ(rig.accept(Packet(key).of(4000).at(2000, 2000)), placed);
            }
        }
        rig.commit();
        rig.hand_over();
        int seen = 0;
        while (const HeapHandle h = rig.pop()) {
            ASSERT_TRUE(holds_pattern(h, 0, h.received()));
            seen++;
        }
        EXPECT_EQ(seen, 3);
    }
    EXPECT_GT(rig.counters.heaps_dropped_full, 100U);
}

TEST(WindowCommit, AnEvictedHeapKeepsItsMemoryUntilItsCopyIsDone) {
    WindowConfig c = small_window();
    c.max_live = 1;
    Rig rig(c);
    EXPECT_EQ(rig.accept(Packet(1).of(200).at(0, 100)), placed);
    for (std::uint64_t k = 2; k < 20; k++)
        EXPECT_EQ(rig.accept(Packet(k).of(200).at(0, 100)), placed);
    rig.commit();
    rig.hand_over();
    for (std::uint64_t k = 1; k < 19; k++) {
        const HeapHandle h = rig.pop();
        EXPECT_EQ(h.cnt(), k);
        EXPECT_TRUE(holds_pattern(h, 0, 100));
    }
}

TEST(WindowCommit, HeapsOfAStoppedWindowAreDroppedOnlyAfterTheirCopies) {
    Rig rig;
    EXPECT_EQ(rig.accept(Packet(1).whole(100)), placed);
    rig.flush();
    rig.window().drop_waiting();
    EXPECT_EQ(rig.window().records_out(), 1U) << "a copy into it is still to come";
    rig.commit();
    rig.window().drop_waiting();
    EXPECT_EQ(rig.window().records_out(), 0U);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 1U);
}

TEST(WindowHandOver, KeepsTheOrderInWhichHeapsEnded) {
    Rig rig;
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.accept(Packet(k).of(16).at(0, 8)), placed);
    for (const std::uint64_t k : {2U, 0U, 3U, 1U})
        EXPECT_EQ(rig.accept(Packet(k).of(16).at(8, 8)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(pop_counts(rig), (Counts{2, 0, 3, 1}));
}

TEST(WindowHandOver, GoesOnThroughTheWrapOfItsRing) {
    Rig rig(small_window(), {.queue_heaps = 64});
    std::uint64_t next = 0;
    std::uint64_t key = 0;
    for (std::size_t batch = 0; batch < 200; batch++) {
        for (std::size_t i = 0; i < batch % Window::kMaxBatch; i++)
            ASSERT_EQ(rig.accept(Packet(key++).whole(8)), placed);
        rig.commit();
        rig.hand_over();
        for (const std::uint64_t k : pop_counts(rig))
            ASSERT_EQ(k, next++);
        rig.reclaim();
    }
    EXPECT_EQ(next, key);
}

TEST(OnFullDropNewest, KeepsWhatIsQueuedAndCountsTheRest) {
    Rig rig(on_full(FullPolicy::drop_newest), {.queue_heaps = 3});
    for (std::uint64_t k = 0; k < 10; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(100)), placed);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 7U);
    EXPECT_FALSE(rig.window().blocked());
    EXPECT_EQ(rig.window().records_out(), 3U);
    EXPECT_EQ(pop_counts(rig), (Counts{0, 1, 2}));
    EXPECT_EQ(rig.give(Packet(10).whole(100)), placed);
    EXPECT_EQ(pop_counts(rig), Counts{10});
}

TEST(OnFullDropNewest, WithinOneBatchKeepsTheFirst) {
    Rig rig(on_full(FullPolicy::drop_newest), {.queue_heaps = 3});
    for (std::uint64_t k = 0; k < 10; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(100)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(rig.counters.heaps_dropped_full, 7U);
    EXPECT_EQ(pop_counts(rig), (Counts{0, 1, 2}));
}

TEST(OnFullDropNewest, ADroppedHeapIsStillDoneForItsDuplicates) {
    Rig rig(on_full(FullPolicy::drop_newest), {.queue_heaps = 1});
    EXPECT_EQ(rig.give(Packet(1).whole(100)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), placed);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 1U);
    EXPECT_EQ(rig.give(Packet(2).whole(100)), duplicate);
}

TEST(OnFullDropOldest, KeepsTheNewest) {
    Rig rig(on_full(FullPolicy::drop_oldest), {.queue_heaps = 3});
    for (std::uint64_t k = 0; k < 10; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(100)), placed);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 7U);
    EXPECT_EQ(rig.window().records_out(), 3U);
    EXPECT_EQ(pop_counts(rig), (Counts{7, 8, 9}));
}

TEST(OnFullDropOldest, WithinOneBatchKeepsTheNewest) {
    Rig rig(on_full(FullPolicy::drop_oldest), {.queue_heaps = 3});
    for (std::uint64_t k = 0; k < 10; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(100)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_EQ(rig.counters.heaps_dropped_full, 7U);
    EXPECT_EQ(pop_counts(rig), (Counts{7, 8, 9}));
}

TEST(OnFullDropOldest, LeavesHeapsInTheConsumersHandsAlone) {
    Rig rig(on_full(FullPolicy::drop_oldest), {.queue_heaps = 2});
    EXPECT_EQ(rig.give(Packet(0).whole(100)), placed);
    const HeapHandle mine = rig.pop();
    for (std::uint64_t k = 1; k < 50; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(100)), placed);
    EXPECT_EQ(mine.cnt(), 0U);
    EXPECT_TRUE(holds_pattern(mine));
}

TEST(OnFullBlock, KeepsEveryHeapAndAsksForAPause) {
    Rig rig(on_full(FullPolicy::block), {.queue_heaps = 2});
    for (std::uint64_t k = 0; k < 5; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(100)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_TRUE(rig.window().blocked());
    EXPECT_EQ(rig.counters.heaps_waiting, 3U);
    Counts all;
    for (int i = 0; i < 5; i++) {
        for (const std::uint64_t k : pop_counts(rig))
            all.push_back(k);
        rig.hand_over();
    }
    EXPECT_EQ(all, (Counts{0, 1, 2, 3, 4}));
    EXPECT_FALSE(rig.window().blocked());
    EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
}

TEST(OnFullBlock, LetsGoWhenThePolicyChanges) {
    Rig rig(on_full(FullPolicy::block), {.queue_heaps = 1});
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(100)), placed);
    rig.commit();
    rig.hand_over();
    EXPECT_TRUE(rig.window().blocked());
    rig.window().set_on_full(FullPolicy::drop_newest);
    rig.hand_over();
    EXPECT_FALSE(rig.window().blocked());
    EXPECT_EQ(rig.counters.heaps_dropped_full, 3U);
}

TEST(OnFullBlock, GivesUpWhatWaitsWhenTold) {
    Rig rig(on_full(FullPolicy::block), {.queue_heaps = 1});
    for (std::uint64_t k = 0; k < 4; k++)
        EXPECT_EQ(rig.accept(Packet(k).whole(100)), placed);
    rig.commit();
    rig.hand_over();
    rig.window().drop_waiting();
    rig.check();
    EXPECT_FALSE(rig.window().blocked());
    EXPECT_EQ(rig.counters.heaps_waiting, 0U);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 3U);
    EXPECT_EQ(pop_counts(rig), Counts{0});
}

/// Tests a lossless source whose consumer takes and holds all heaps. The consumer gives them back only when
/// the window blocks. No packet may be lost.
void lose_nothing(std::size_t heap_bytes, const RigSizes& sizes, std::size_t heaps) {
    Rig rig(on_full(FullPolicy::block), sizes);
    std::vector<HeapHandle> held;
    std::uint64_t next = 0;
    const auto take_all = [&] {
        while (HeapHandle h = rig.pop()) {
            ASSERT_EQ(h.cnt(), next++);
            ASSERT_TRUE(h.complete());
            held.push_back(std::move(h));
        }
    };
    for (std::uint64_t k = 0; k < heaps; k++) {
        for (int tries = 0; rig.window().blocked(); tries++) {
            ASSERT_LT(tries, 3) << "blocked although everything was given back, at heap " << k;
            take_all();
            held.clear();
            rig.hand_over();
        }
        ASSERT_EQ(rig.give(Packet(k).of(heap_bytes).at(0, heap_bytes / 2)), placed) << "heap " << k;
        ASSERT_EQ(rig.give(Packet(k).of(heap_bytes).at(heap_bytes / 2, heap_bytes / 2)), placed);
        take_all();
    }
    EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
    held.clear();
}

TEST(OnFullBlock, LosesNothingToAConsumerThatHoldsAllMemory) {
    lose_nothing(32 * kKiB, {.quota = 512 * kKiB, .queue_heaps = 64}, 200);
}

TEST(OnFullBlock, LosesNothingToAConsumerThatHoldsAllRecords) {
    lose_nothing(16, {.quota = 1 * kMiB, .queue_heaps = 4}, 2000);
}

TEST(OnFullBlock, LosesNothingWhenTheQuotaHoldsOneHeap) {
    lose_nothing(64 * kKiB, {.quota = 128 * kKiB, .queue_heaps = 64}, 50);
}

/// Tests the bound on the bytes of queued heaps. Half of the quota stays for live heaps, or as much as they
/// need.
TEST(QueueBytes, AreBoundedSoThatLiveHeapsFindRoom) {
    for (const FullPolicy policy : {FullPolicy::drop_newest, FullPolicy::drop_oldest}) {
        Rig rig(on_full(policy), {.arena = 2 * kMiB, .quota = 1 * kMiB, .queue_heaps = 64});
        for (std::uint64_t k = 0; k < 100; k++)
            ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed) << "never for lack of memory";
        EXPECT_EQ(rig.packets(no_memory), 0U);
        EXPECT_GE(rig.queued(), 8U) << "half of the quota at least may queue";
        EXPECT_LE(rig.queued(), 12U);
        EXPECT_EQ(rig.counters.heaps_dropped_full, 100 - rig.queued());
        const Counts left = pop_counts(rig);
        EXPECT_EQ(left.back(), policy == FullPolicy::drop_oldest ? 99U : left.size() - 1);
    }
}

TEST(QueueBytes, BlockTheStreamWhenItMayNotLose) {
    Rig rig(on_full(FullPolicy::block), {.arena = 2 * kMiB, .quota = 1 * kMiB, .queue_heaps = 64});
    std::uint64_t next = 0;
    for (std::uint64_t k = 0; k < 100; k++) {
        if (rig.window().blocked()) {
            for (const std::uint64_t c : pop_counts(rig))
                ASSERT_EQ(c, next++);
            rig.hand_over();
            ASSERT_FALSE(rig.window().blocked());
        }
        ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
    }
    for (int round = 0; round < 2; round++, rig.hand_over())
        for (const std::uint64_t c : pop_counts(rig))
            ASSERT_EQ(c, next++);
    EXPECT_EQ(next, 100U);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
}

TEST(QueueBytes, HoldNothingBackFromAConsumerWhoKeepsTheLastHeap) {
    WindowConfig c = on_full(FullPolicy::block);
    c.lends = true;
    // Four heaps: fewer than may be live.
    Rig rig(c, {.arena = 256 * kKiB, .quota = 256 * kKiB, .queue_heaps = 64});
    HeapHandle last;
    for (std::uint64_t k = 0; k < 100; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
        HeapHandle next = rig.pop();
        ASSERT_TRUE(next) << "heap " << k;
        ASSERT_EQ(next.cnt(), k);
        last = std::move(next);
    }
    EXPECT_FALSE(rig.window().has_waited());
    // Packets wait while the consumer has all memory, and none is lost.
    std::vector<HeapHandle> held;
    for (std::uint64_t k = 100; k < 103; k++) {
        ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
        held.push_back(rig.pop());
        ASSERT_TRUE(held.back());
    }
    EXPECT_EQ(rig.accept(Packet(103).whole(64 * kKiB)), Window::kWait);
    EXPECT_TRUE(rig.window().has_waited());
    EXPECT_FALSE(rig.window().has_waited());
    last.reset();
    EXPECT_EQ(rig.give(Packet(103).whole(64 * kKiB)), placed);
    held.clear();
    EXPECT_EQ(rig.pop().cnt(), 103U);
}

TEST(QueueBytes, AlwaysLetOneHeapThrough) {
    Rig rig(on_full(FullPolicy::drop_newest), {.arena = 2 * kMiB, .quota = 64 * kKiB, .queue_heaps = 64});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    EXPECT_EQ(rig.queued(), 1U);
    EXPECT_EQ(pop_counts(rig), Counts{1});
}

TEST(QueueBytes, ThatConsumersHaveGivenBackDoNotCount) {
    Rig rig(on_full(FullPolicy::drop_newest), {.arena = 2 * kMiB, .quota = 1 * kMiB, .queue_heaps = 64});
    EXPECT_EQ(rig.give(Packet(0).whole(64 * kKiB)), placed);
    for (std::uint64_t k = 1; k < 100; k++) {
        // One heap is always queued; the one before it has been given back.
        ASSERT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
        const HeapHandle h = rig.pop();
        ASSERT_EQ(h.cnt(), k - 1);
    }
    EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
}

TEST(QueueBytes, SmallHeapsAreBoundedByTheirNumberOnly) {
    Rig rig(on_full(FullPolicy::drop_newest), {.arena = 2 * kMiB, .quota = 1 * kMiB, .queue_heaps = 64});
    for (std::uint64_t k = 0; k < 64; k++)
        ASSERT_EQ(rig.give(Packet(k).whole(100)), placed);
    EXPECT_EQ(rig.queued(), 64U);
    EXPECT_EQ(rig.counters.heaps_dropped_full, 0U);
}

}  // namespace
}  // namespace spead::heap::test
