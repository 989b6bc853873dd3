// SPDX-License-Identifier: BSD-3-Clause
#include <random>

#include <gtest/gtest.h>

#include "tests/support/heap_rig.hpp"
#include "tests/support/heap_traffic.hpp"
#include "tests/support/sanitized.hpp"

/// Tests the short way for heaps of one packet: those that it takes, and those that it must leave to
/// accept().
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

/// Gives a packet, and returns whether the short way took it.
bool accepted_whole(Rig& rig, const Packet& p) {
    const std::uint64_t before = rig.whole_heaps;
    rig.give(p);
    return rig.whole_heaps != before;
}

TEST(WindowWhole, TakesAHeapOfOnePacket) {
    Rig rig;
    EXPECT_TRUE(accepted_whole(rig, Packet(1).whole(100).items({7, 8, 7}).pointing_at(60).time(5).from(9)));
    EXPECT_EQ(rig.packets(placed), 1U);
    EXPECT_EQ(rig.counters.bytes, 100U);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(h.contiguous());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(h.length(), 100U);
    EXPECT_EQ(h.received(), 100U);
    EXPECT_EQ(h.packets(), 1U);
    EXPECT_EQ(h.flavour(), 40U);
    EXPECT_EQ(h.source(), 9U);
    EXPECT_EQ(h.first_arrival(), 5U);
    EXPECT_EQ(h.last_arrival(), 5U);
    EXPECT_EQ(h.first_time(), 0U);
    EXPECT_EQ(words_of(h), (std::vector<std::uint64_t>{7, 8}));
    EXPECT_TRUE(h.missing().empty());
}

TEST(WindowWhole, LeavesEverythingUnusualToAccept) {
    Rig rig;
    EXPECT_FALSE(accepted_whole(rig, Packet(1).of(0))) << "no bytes";
    EXPECT_FALSE(accepted_whole(rig, Packet(2).whole(64 * kKiB + 1))) << "too big";
    EXPECT_EQ(rig.packets(heap_too_big), 1U);
    EXPECT_FALSE(accepted_whole(rig, Packet(3).at(0, 100))) << "without a length";
    EXPECT_FALSE(accepted_whole(rig, Packet(4).whole(100).control())) << "stream control";
    EXPECT_FALSE(accepted_whole(rig, Packet(5).whole(100).pointing_at(101))) << "an item behind its end";
    EXPECT_FALSE(accepted_whole(rig, Packet(6).whole(100).items(std::vector<std::uint64_t>(17, 1))))
        << "many items";
    EXPECT_FALSE(accepted_whole(rig, Packet(7).whole(100).flavour(24))) << "counts that soon come round";
    Rig other;
    EXPECT_TRUE(accepted_whole(other, Packet(8).whole(64 * kKiB).items(std::vector<std::uint64_t>(16, 1))));
    EXPECT_EQ(words_of(other.pop()), std::vector<std::uint64_t>{1});
}

TEST(WindowWhole, ItsRepeatsAreDuplicates) {
    Rig rig;
    EXPECT_TRUE(accepted_whole(rig, Packet(1).whole(100)));
    EXPECT_FALSE(accepted_whole(rig, Packet(1).whole(100)));
    EXPECT_EQ(rig.packets(duplicate), 1U);
    EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 50)), duplicate) << "the same heap in two packets";
    EXPECT_EQ(rig.give(Packet(1).of(100).at(50, 50)), duplicate);
    EXPECT_EQ(rig.give(Packet(1).at(0, 10)), duplicate) << "without a length";
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
}

TEST(WindowWhole, AWholeHeapAfterAPartOfItIsNoNewOne) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 50)), placed);
    EXPECT_FALSE(accepted_whole(rig, Packet(1).whole(100)));
    EXPECT_EQ(rig.packets(inconsistent), 1U);
    EXPECT_EQ(rig.give(Packet(1).of(100).at(50, 50)), placed);
    EXPECT_FALSE(accepted_whole(rig, Packet(1).whole(100)));
    EXPECT_EQ(rig.packets(duplicate), 1U);
}

TEST(WindowWhole, AForgedHeapOfOnePacketGivesWayToAnother) {
    WindowConfig c = small_window();
    c.guarded = true;
    Rig rig(c);
    EXPECT_TRUE(accepted_whole(rig, Packet(1).whole(100)));
    EXPECT_EQ(rig.give(Packet(1).of(300).at(0, 150)), placed) << "another length";
    EXPECT_EQ(rig.give(Packet(1).of(300).at(150, 150)), placed);
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{1, 1}));
    EXPECT_TRUE(accepted_whole(rig, Packet(2).whole(100)));
    EXPECT_EQ(rig.give(Packet(2).whole(101)), placed) << "both in one packet";
    EXPECT_EQ(rig.give(Packet(2).whole(101)), duplicate);
}

TEST(WindowWhole, TheHistoryForgetsTheOldest) {
    WindowConfig c = small_window();
    c.history = 64;
    Rig rig(c);
    for (std::uint64_t k = 0; k < 1000; k++) {
        ASSERT_TRUE(accepted_whole(rig, Packet(k).whole(8))) << k;
        ASSERT_EQ(pop_counts(rig), std::vector<std::uint64_t>{k});
        rig.reclaim();
    }
    for (std::uint64_t k = 1000 - 64; k < 1000; k++)
        ASSERT_EQ(rig.give(Packet(k).whole(8)), duplicate) << k;
    EXPECT_TRUE(accepted_whole(rig, Packet(1000 - 65).whole(8))) << "forgotten";
    EXPECT_EQ(rig.give(Packet(1000 - 64).whole(8)), placed) << "forgotten for the one before";
}

TEST(WindowWhole, ACountThatTheHistoryHasTwiceIsForgottenAsBefore) {
    WindowConfig c = small_window();
    c.history = 64;
    c.guarded = true;
    for (const bool short_way : {false, true}) {
        Rig rig(c);
        rig.short_way = short_way;
        EXPECT_EQ(rig.give(Packet(1).whole(8)), placed);
        EXPECT_EQ(rig.give(Packet(1).whole(9)), placed) << "the history has both";
        for (std::uint64_t k = 100; k < 162; k++)
            EXPECT_EQ(rig.give(Packet(k).whole(8)), placed);
        EXPECT_EQ(rig.give(Packet(1).whole(9)), duplicate);
        EXPECT_EQ(rig.give(Packet(200).whole(8)), placed) << "its first mention is forgotten";
        EXPECT_EQ(rig.give(Packet(1).whole(9)), placed) << "its second mention is the oldest one";
        EXPECT_EQ(rig.give(Packet(1).whole(9)), duplicate);
        pop_counts(rig);
        rig.reclaim();
    }
}

TEST(WindowWhole, LeavesAnOlderHeapInTheWayToAccept) {
    Rig rig;
    EXPECT_EQ(rig.give(Packet(1).of(100).at(0, 50)), placed);
    for (std::uint64_t k = 2; k < 5; k++)
        EXPECT_TRUE(accepted_whole(rig, Packet(k).whole(100))) << "four heaps may be live";
    EXPECT_FALSE(accepted_whole(rig, Packet(5).whole(100)));
    EXPECT_EQ(rig.ended(HeapEnd::evicted), 1U);
    EXPECT_TRUE(accepted_whole(rig, Packet(6).whole(100)));
    EXPECT_EQ(pop_counts(rig), (std::vector<std::uint64_t>{2, 3, 4, 1, 5, 6}));
}

TEST(WindowWhole, LeavesAHeapWithoutMemoryToAccept) {
    Rig rig(small_window(), {.arena = 256 * kKiB, .quota = 1024, .queue_heaps = 64});
    for (std::uint64_t k = 0; k < 4; k++) {
        EXPECT_TRUE(accepted_whole(rig, Packet(k).whole(256)));
        rig.hold();
    }
    EXPECT_FALSE(accepted_whole(rig, Packet(4).whole(256)));
    EXPECT_EQ(rig.packets(no_memory), 1U);
    rig.release();
    EXPECT_EQ(rig.give(Packet(4).whole(256)), no_memory) << "it is remembered";
    rig.reclaim();
    EXPECT_TRUE(accepted_whole(rig, Packet(5).whole(256)));
}

TEST(WindowWhole, LeavesAHeapWithoutARecordToAccept) {
    Rig rig(small_window(), {.queue_heaps = 1});
    std::uint64_t k = 0;
    while (accepted_whole(rig, Packet(k).whole(8))) {
        rig.hold();
        k++;
    }
    EXPECT_EQ(k, Window::records_needed(small_window(), 1));
    EXPECT_EQ(rig.packets(no_memory), 1U);
    rig.release();
    EXPECT_EQ(rig.give(Packet(1000).whole(8)), placed) << "accept() takes records back";
    EXPECT_TRUE(accepted_whole(rig, Packet(1001).whole(8)));
}

TEST(WindowWhole, FullQueuesDropAsEver) {
    for (const FullPolicy policy : {FullPolicy::drop_newest, FullPolicy::drop_oldest}) {
        WindowConfig c = small_window();
        c.on_full = policy;
        Rig rig(c, {.queue_heaps = 2});
        for (std::uint64_t k = 0; k < 3; k++)
            EXPECT_TRUE(accepted_whole(rig, Packet(k).whole(8)));
        EXPECT_EQ(rig.counters.heaps_dropped_full, 1U);
        EXPECT_EQ(pop_counts(rig), policy == FullPolicy::drop_newest ? (std::vector<std::uint64_t>{0, 1})
                                                                     : (std::vector<std::uint64_t>{1, 2}));
    }
}

TEST(WindowWhole, LosslessHeapsWait) {
    WindowConfig c = small_window();
    c.on_full = FullPolicy::block;
    Rig rig(c, {.arena = 256 * kKiB, .quota = 2048, .queue_heaps = 64});
    std::uint64_t k = 0;
    while (accepted_whole(rig, Packet(k).whole(256)))
        k++;
    EXPECT_EQ(rig.window().placer().out(), 2048U);
    EXPECT_EQ(rig.give(Packet(k).whole(256)), Window::kWait);
    EXPECT_EQ(rig.packets(placed), k) << "nothing was counted";
    std::vector<std::uint64_t> all;
    while (all.size() < k) {
        const std::vector<std::uint64_t> some = pop_counts(rig);
        ASSERT_FALSE(some.empty());
        all.insert(all.end(), some.begin(), some.end());
        rig.reclaim();
        rig.hand_over();
    }
    EXPECT_TRUE(accepted_whole(rig, Packet(k).whole(256)));
}

TEST(WindowWhole, TakesNoneAfterAStopOrWithoutAHistory) {
    Rig rig;
    rig.window().stop();
    EXPECT_FALSE(accepted_whole(rig, Packet(1).whole(8)));
    EXPECT_EQ(rig.packets(stopped), 1U);
    WindowConfig c = small_window();
    c.history = 0;
    Rig forgetful(c);
    EXPECT_FALSE(accepted_whole(forgetful, Packet(1).whole(8)));
    EXPECT_FALSE(accepted_whole(forgetful, Packet(1).whole(8)));
    EXPECT_EQ(forgetful.packets(placed), 2U);
}

TEST(WindowWhole, TakesARecordThatHadBooks) {
    Rig rig(small_window(), {.queue_heaps = 1});
    std::vector<std::uint64_t> words(200);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = i;
    EXPECT_EQ(rig.give(Packet(1).whole(8).items(words)), placed);
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{1});
    for (std::uint32_t at = 20; at != 0; at -= 2)
        EXPECT_EQ(rig.give(Packet(2).of(30).at(at, 1)), placed) << "many holes";
    rig.flush();
    EXPECT_EQ(pop_counts(rig), std::vector<std::uint64_t>{2});
    rig.reclaim();
    EXPECT_EQ(rig.window().books().in_use(), 0U);
    EXPECT_TRUE(accepted_whole(rig, Packet(3).whole(100).items({5})));
    const HeapHandle h = rig.pop();
    EXPECT_EQ(words_of(h), std::vector<std::uint64_t>{5});
    EXPECT_TRUE(h.missing().empty());
    EXPECT_TRUE(holds_pattern(h));
    EXPECT_EQ(rig.give(Packet(4).of(30).at(10, 5).items({1})), placed);
    EXPECT_EQ(rig.give(Packet(4).of(30).at(20, 5).items({2})), placed);
    rig.flush();
    const HeapHandle holes = rig.pop();
    EXPECT_EQ(holes.missing(), ranges({{0, 10}, {15, 20}, {25, 30}}));
    EXPECT_EQ(words_of(holes), (std::vector<std::uint64_t>{1, 2}));
}

/// Gives the same random packets to two windows, one of which is asked for everything by accept().
void compare(std::uint64_t seed, std::uint64_t& whole_heaps) {
    std::mt19937_64 random(seed);
    WindowConfig c = small_window();
    c.guarded = random() % 4 != 0;
    c.substreams = 1 + static_cast<std::uint32_t>(random() % 2);
    c.max_live = 1 + static_cast<std::uint32_t>(random() % 5);
    c.history = 64 + static_cast<std::uint32_t>(random() % 64);
    c.history_ticks = random() % 2 == 0 ? 0 : 50 + random() % 2000;
    c.timeout_ticks = random() % 2 == 0 ? 0 : 20 + random() % 200;
    c.on_full = std::array{FullPolicy::drop_newest, FullPolicy::drop_oldest, FullPolicy::block}[random() % 3];
    Traffic::Settings t;
    t.senders = 1 + random() % 4;
    t.heaps = 200;
    t.longest_heap = 40 + random() % 60;
    t.hostile = random() % 2 == 0 ? 0 : 0.1;
    t.reordering = random() % 6;
    t.counts_collide = random() % 2 == 0;
    const Traffic traffic(t, seed);
    const RigSizes sizes{
        .arena = 256 * kKiB, .quota = 4096 + random() % 65536, .queue_heaps = 1 + random() % 64};
    Rig a(c, sizes);
    Rig b(c, sizes);
    b.short_way = false;
    for (const Packet& p : traffic.packets()) {
        ASSERT_EQ(a.accept(p), b.accept(p)) << "heap " << p.key();
        if (random() % 8 != 0)
            continue;
        for (Rig* const rig : {&a, &b}) {
            rig->commit();
            rig->now = p.view().arrival;
            rig->hand_over();
        }
        const bool consumes = random() % 4 != 0;
        while (consumes) {
            const HeapHandle x = a.pop();
            const HeapHandle y = b.pop();
            ASSERT_EQ(static_cast<bool>(x), static_cast<bool>(y));
            if (!x)
                break;
            ASSERT_EQ(x.cnt(), y.cnt());
            ASSERT_EQ(x.end(), y.end());
            ASSERT_EQ(x.length(), y.length());
            ASSERT_EQ(words_of(x), words_of(y));
            ASSERT_EQ(x.segments().size(), y.segments().size());
        }
        if (random() % 4 == 0) {
            a.expire(p.view().arrival);
            b.expire(p.view().arrival);
        }
        ASSERT_EQ(a.counters.packets, b.counters.packets);
        ASSERT_EQ(a.counters.heaps_ended, b.counters.heaps_ended);
        ASSERT_EQ(a.counters.heaps_started, b.counters.heaps_started);
        ASSERT_EQ(a.counters.heaps_dropped_full, b.counters.heaps_dropped_full);
        ASSERT_EQ(a.counters.bytes, b.counters.bytes);
        ASSERT_EQ(a.window().records_out(), b.window().records_out());
        ASSERT_EQ(a.window().placer().out(), b.window().placer().out());
        ASSERT_EQ(a.window().times().gap.count(), b.window().times().gap.count());
    }
    whole_heaps += a.whole_heaps;
}

TEST(WindowWhole, GivesWhatAcceptGives) {
    std::uint64_t whole_heaps = 0;
    for (std::uint64_t seed = 1; seed <= spead::test::cases(100); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        compare(seed, whole_heaps);
        if (HasFatalFailure())
            return;
    }
    EXPECT_GT(whole_heaps, spead::test::cases(1000));
}

}  // namespace
}  // namespace spead::heap::test
