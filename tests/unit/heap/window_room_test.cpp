// SPDX-License-Identifier: BSD-3-Clause
#include <random>

#include <gtest/gtest.h>

#include "heap/item_words.hpp"
#include "heap/room.hpp"
#include "tests/support/heap_rig.hpp"
#include "tests/support/sanitized.hpp"

/// Tests streams that may not lose anything. Their packets wait for room. Tests how much room is enough.
namespace spead::heap::test {
namespace {

using enum PacketOutcome;

WindowConfig waiting() {
    WindowConfig c = small_window();
    c.on_full = FullPolicy::block;
    return c;
}

TEST(Room, IsOneHeapMoreThanMayBeLive) {
    EXPECT_EQ(room_for(4, 16 * kKiB), 80 * kKiB);
    EXPECT_EQ(room_for(1, 256), 512U);
    EXPECT_EQ(room_for(4, 16 * kKiB, 3), 128 * kKiB);
    EXPECT_EQ(room_for(4096, std::size_t{2} << 30), 4097 * (std::size_t{2} << 30));
}

TEST(Room, BetweenTwoHandOversHasAnUpperBound) {
    EXPECT_EQ(begun_between_hand_overs(1), 31U + 64) << "31 had ended, and a burst of single packets";
    EXPECT_EQ(begun_between_hand_overs(2), 31U + 64);
    EXPECT_EQ(begun_between_hand_overs(4), 65U) << "four bursts of 64 packets";
    EXPECT_EQ(begun_between_hand_overs(256), 2U);
    EXPECT_EQ(begun_between_hand_overs(1'000'000), 1U);
    EXPECT_EQ(begun_between_hand_overs(0), 31U + 64) << "as if it were 1";
}

TEST(WindowRoom, APacketThatFindsNoneWaitsUncounted) {
    Rig rig(waiting(), {.quota = 128 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    EXPECT_EQ(rig.give(Packet(2).whole(64 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.window().heaps_elsewhere(), 2U) << "one is held, one waits for the queue";
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(rig.accept(Packet(3).of(1000).at(0, 500)), Window::kWait);
    EXPECT_EQ(rig.counters.heaps_started, 2U);
    rig.release();
    EXPECT_EQ(rig.give(Packet(3).of(1000).at(0, 500)), placed);
    EXPECT_EQ(rig.give(Packet(3).of(1000).at(500, 500)), placed);
    EXPECT_EQ(rig.packets(placed), 4U);
    EXPECT_EQ(rig.packets(no_memory), 0U);
}

TEST(WindowRoom, WhereNothingComesBackThePacketIsRefusedAtLast) {
    Rig rig(waiting(), {.quota = 128 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).of(64 * kKiB).at(0, 10)), placed);
    EXPECT_EQ(rig.give(Packet(2).of(64 * kKiB).at(0, 10)), placed);
    const Packet third = Packet(3).of(1000).at(0, 500);
    EXPECT_EQ(rig.accept(third), Window::kWait);
    EXPECT_EQ(rig.window().heaps_elsewhere(), 0U);
    EXPECT_EQ(rig.window().accept_now(third.view()).outcome, no_memory);
    EXPECT_EQ(rig.accept(Packet(4).of(1000).at(0, 500)), Window::kWait) << "the next one waits again";
    EXPECT_EQ(rig.packets(no_memory), 1U);
}

TEST(WindowRoom, OfOtherPoliciesIsNotWaitedFor) {
    Rig rig(small_window(), {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.give(Packet(2).whole(8)), no_memory);
    EXPECT_EQ(rig.window().packets_with_room(), Window::kMaxBatch);
    EXPECT_FALSE(rig.window().is_short());
}

TEST(WindowRoom, IsWaitedForNoLongerWhenThePolicyChanges) {
    Rig rig(waiting(), {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.accept(Packet(2).whole(8)), Window::kWait);
    rig.window().set_on_full(FullPolicy::drop_newest);
    EXPECT_EQ(rig.accept(Packet(2).whole(8)), no_memory);
}

TEST(WindowRoom, OfAStreamThatLeavesIsNotWaitedFor) {
    Rig rig(waiting(), {.quota = 64 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).whole(64 * kKiB)), placed);
    rig.hold();
    rig.window().set_quota(0);
    EXPECT_EQ(rig.accept(Packet(2).whole(8)), no_memory);
}

TEST(WindowRoom, TellsHowManyPacketsABurstMayHave) {
    Rig rig(waiting(), {.arena = 8 * kMiB, .quota = 1 * kMiB, .queue_heaps = 64, .largest = 64 * kKiB});
    EXPECT_EQ(rig.window().packets_with_room(), Window::kMaxBatch) << "nothing is known of the heaps yet";
    EXPECT_EQ(rig.give(Packet(0).whole(64 * kKiB)), placed);
    EXPECT_TRUE(rig.window().is_short()) << "16 heaps at most";
    EXPECT_EQ(rig.window().packets_with_room(), 15U);
    for (std::uint64_t k = 1; k < 16; k++)
        EXPECT_EQ(rig.give(Packet(k).whole(64 * kKiB)), placed);
    EXPECT_EQ(rig.window().packets_with_room(), 0U) << "the consumer has something to take";
    std::vector<HeapHandle> held;
    for (int i = 0; i < 100 && rig.window().heaps_elsewhere() > held.size(); i++) {
        if (HeapHandle h = rig.pop())
            held.push_back(std::move(h));
        else
            held.erase(held.begin());
        rig.reclaim();
        rig.hand_over();
    }
    EXPECT_EQ(rig.window().packets_with_room(), 16U - held.size());
    held.clear();
    EXPECT_EQ(rig.window().packets_with_room(), 16U) << "what was given back is found";
    EXPECT_EQ(rig.give(Packet(100).whole(64)), placed);
    EXPECT_EQ(rig.window().packets_with_room(), Window::kMaxBatch) << "if heaps are that small";
}

TEST(WindowRoom, AHeapWhoseRangesCannotGrowWaits) {
    WindowConfig c = waiting();
    c.books_bytes = 128 * kKiB;
    Rig rig(c);
    hold_books(rig, 9, 128 * kKiB);
    for (std::uint64_t i = 0; i < Record::kInlineRanges; i++)
        EXPECT_EQ(rig.give(Packet(1).of(200).at(2 * i + 1, 1)), placed);
    EXPECT_EQ(rig.accept(Packet(1).of(200).at(100, 1)), Window::kWait);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 1)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 1)), placed) << "a range has become free";
}

TEST(WindowRoom, AHeapWhoseItemTableCannotGrowWaitsAndIsNotCounted) {
    WindowConfig c = waiting();
    c.books_bytes = 128 * kKiB;
    Rig rig(c);
    hold_books(rig, 9, 128 * kKiB);
    std::vector<std::uint64_t> words(20);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = i;
    const Packet many = Packet(1).of(200).at(0, 100).items(words);
    EXPECT_EQ(rig.accept(many), Window::kWait);
    EXPECT_EQ(rig.accept(many), Window::kWait);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    rig.release();
    EXPECT_EQ(rig.give(many), placed);
    EXPECT_EQ(rig.packets(no_memory), 0U);
    EXPECT_EQ(rig.counters.packets_at_limit, 0U);
}

TEST(WindowRoom, ALimitIsNoLackOfMemoryAndNotWaitedFor) {
    Rig rig(waiting(), {.arena = 4 * kMiB});
    EXPECT_EQ(rig.give(Packet(9).whole(8)), placed);
    rig.hold();
    std::vector<std::uint64_t> words(kMaxItems);
    for (std::size_t i = 0; i < words.size(); i++)
        words[i] = i;
    EXPECT_EQ(rig.give(Packet(1).of(200).at(0, 100).items(words)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(200).at(100, 100).items({kMaxItems + 1})), no_memory);
    EXPECT_EQ(rig.counters.packets_at_limit, 1U);
    words.push_back(words.size());
    EXPECT_EQ(rig.give(Packet(2).of(200).at(0, 100).items(words)), no_memory);
    EXPECT_EQ(rig.counters.packets_at_limit, 2U);
    EXPECT_EQ(rig.packets(no_memory), 2U);
}

TEST(WindowRoom, AHeapOfUnknownLengthMovesToALargerBlock) {
    Rig rig(waiting(), {.quota = 40 * kKiB});
    EXPECT_EQ(rig.give(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.arena().in_use(), 8 * kKiB) << "a fair share among five";
    // Copies of the same batch that are not made yet go to the new block, too.
    for (std::uint64_t at = 1000; at < 14'000; at += 1000)
        EXPECT_EQ(rig.accept(Packet(1).at(at, 1000)), placed) << at;
    rig.commit();
    EXPECT_EQ(rig.give(Packet(1).of(16'000).at(14'000, 2000)), placed);
    const HeapHandle h = rig.pop();
    ASSERT_TRUE(h);
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

TEST(WindowRoom, AHeapOfUnknownLengthWaitsForALargerBlock) {
    Rig rig(waiting(), {.quota = 40 * kKiB, .largest = 32 * kKiB});
    EXPECT_EQ(rig.give(Packet(9).whole(30 * kKiB)), placed);
    rig.hold();
    EXPECT_EQ(rig.give(Packet(1).at(0, 1000)), placed);
    EXPECT_EQ(rig.accept(Packet(1).at(9000, 1000)), Window::kWait);
    EXPECT_EQ(rig.accept(Packet(1).of(20'000)), Window::kWait) << "a length past its room";
    rig.release();
    EXPECT_EQ(rig.give(Packet(1).at(9000, 1000)), placed);
    EXPECT_EQ(rig.give(Packet(1).of(10'000).at(1000, 8000)), placed);
    const HeapHandle h = rig.pop();
    EXPECT_TRUE(h.complete());
    EXPECT_TRUE(holds_pattern(h));
}

/// Plays a source that can wait: it offers each packet again until it is taken. The consumer gives heaps back
/// only when nothing else goes on. As many heaps are in flight as may be live, their packets in any order.
class Lossless {
  public:
    Lossless(std::uint64_t seed, const WindowConfig& c, std::size_t quota)
        : random_(seed),
          c_(c),
          rig_(c,
               {.arena = quota, .quota = quota, .queue_heaps = 1 + seed % 8, .largest = c.max_heap_bytes}) {}

    void run(std::uint64_t heaps) {
        std::vector<Sent> open;
        std::uint64_t next = 0;
        while (next < heaps || !open.empty()) {
            if (next < heaps && (open.empty() || random_() % 3 == 0)) {
                // It would evict the oldest.
                if (!open.empty() && next - open.front().key == c_.max_live) {
                    ASSERT_NO_FATAL_FAILURE(send(open.front(), c_.max_heap_bytes));
                    open.erase(open.begin());
                }
                open.push_back({next++, 1 + random_() % c_.max_heap_bytes, 0});
                ASSERT_NO_FATAL_FAILURE(send(open.back(), 1 + random_() % c_.max_heap_bytes));
            } else {
                ASSERT_NO_FATAL_FAILURE(
                    send(open[random_() % open.size()], 1 + random_() % c_.max_heap_bytes));
            }
            std::erase_if(open, [](const Sent& s) { return s.at == s.size; });
        }
        rig_.commit();
        rig_.hand_over();
        while (delivered_ < next)
            ASSERT_NO_FATAL_FAILURE(make_room());
        held_.clear();
        EXPECT_EQ(rig_.ended(HeapEnd::complete), next);
        EXPECT_EQ(rig_.packets(no_memory) + rig_.packets(late), 0U);
        EXPECT_EQ(rig_.counters.heaps_dropped_full, 0U);
    }

  private:
    struct Sent {
        std::uint64_t key, size, at;
    };

    void send(Sent& s, std::uint64_t most) {
        const std::uint64_t length = std::min(s.size - s.at, most);
        const Packet p = Packet(s.key).of(s.size).at(s.at, length);
        while (rig_.accept(p) == Window::kWait) {
            rig_.commit();
            rig_.hand_over();
            ASSERT_NO_FATAL_FAILURE(make_room());
        }
        s.at += length;
        if (random_() % 8 == 0) {
            rig_.commit();
            rig_.hand_over();
        }
    }

    void make_room() {
        if (HeapHandle h = rig_.pop()) {
            ASSERT_TRUE(h.complete()) << h.cnt();
            ASSERT_TRUE(holds_pattern(h));
            delivered_++;
            held_.push_back(std::move(h));
        } else {
            ASSERT_FALSE(held_.empty()) << "it waits, and nobody has anything to give back";
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(random_() % held_.size()));
        }
        rig_.reclaim();
        rig_.hand_over();
    }

    std::mt19937_64 random_;
    WindowConfig c_;
    Rig rig_;
    std::vector<HeapHandle> held_;
    std::uint64_t delivered_ = 0;
};

/// Tests that room_for() is enough for any mix of sizes, and that no more is needed.
TEST(WindowRoom, OfOneHeapMoreThanMayBeLiveIsEnoughForHeapsOfAnySize) {
    for (std::uint64_t seed = 1; seed <= spead::test::cases(40); seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        WindowConfig c = waiting();
        c.max_live = 1 + static_cast<std::uint32_t>(seed % 6);
        c.max_heap_bytes = std::size_t{1} << (9 + seed % 8);
        Lossless(seed, c, room_for(c.live_capacity(), c.max_heap_bytes)).run(400);
        if (HasFatalFailure())
            return;
    }
}

}  // namespace
}  // namespace spead::heap::test
