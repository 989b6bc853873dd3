// SPDX-License-Identifier: BSD-3-Clause
#include "heap/pool_placer.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace spead::heap {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = kKiB * kKiB;

TEST(PoolPlacer, CountsBlocksBySizeOfTheirClass) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer p(arena, kMiB);
    const memory::Block b = p.place(1000);
    ASSERT_TRUE(b);
    EXPECT_EQ(p.capacity(b), kKiB);
    EXPECT_EQ(p.out(), kKiB);
    p.release(b);
    EXPECT_EQ(p.out(), 0U);
    EXPECT_EQ(arena.in_use(), 0U);
}

TEST(PoolPlacer, StopsExactlyAtItsQuota) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer p(arena, 3 * kKiB);
    std::vector<memory::Block> blocks;
    for (int i = 0; i < 3; i++) {
        blocks.push_back(p.place(kKiB));
        ASSERT_TRUE(blocks.back());
    }
    EXPECT_FALSE(p.place(1));
    p.release(blocks.back());
    blocks.pop_back();
    EXPECT_FALSE(p.place(kKiB + 1)) << "its class is 2 KiB";
    blocks.push_back(p.place(kKiB));
    EXPECT_TRUE(blocks.back());
    for (const memory::Block b : blocks)
        p.release(b);
}

TEST(PoolPlacer, RefusesMoreThanTheLargestBlock) {
    memory::Arena arena(2 * kMiB, 64 * kKiB);
    PoolPlacer p(arena, 2 * kMiB);
    EXPECT_TRUE(p.place(64 * kKiB));
    EXPECT_FALSE(p.place(64 * kKiB + 1));
    EXPECT_FALSE(p.place(std::size_t{1} << 40));
    EXPECT_EQ(p.out(), 64 * kKiB);
}

TEST(PoolPlacer, TwoShareAnArenaAndNeitherTakesTheOthersQuota) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer a(arena, kMiB);
    PoolPlacer b(arena, kMiB);
    EXPECT_TRUE(a.place(kMiB));
    EXPECT_FALSE(a.place(1));
    EXPECT_TRUE(b.place(kMiB));
}

TEST(PoolPlacer, GivesTheLargestThatFitsBetweenTwoSizes) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer p(arena, 300 * kKiB);
    const memory::Block first = p.place_between(1000, kMiB);
    ASSERT_TRUE(first);
    EXPECT_EQ(p.capacity(first), 256 * kKiB);
    const memory::Block second = p.place_between(1000, kMiB);
    ASSERT_TRUE(second);
    EXPECT_EQ(p.capacity(second), 32 * kKiB);
    EXPECT_FALSE(p.place_between(16 * kKiB, kMiB)) << "12 KiB are left";
    const memory::Block exact = p.place_between(8 * kKiB, 8 * kKiB);
    ASSERT_TRUE(exact);
    EXPECT_EQ(p.capacity(exact), 8 * kKiB);
    for (const memory::Block b : {first, second, exact})
        p.release(b);
}

TEST(PoolPlacer, MayUseAllOfABlockItGaveBetweenTwoSizes) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer p(arena, 2 * kMiB);
    for (const std::size_t least : {1U, 700U, 5000U, 100'000U}) {
        const memory::Block b = p.place_between(least, least + 100);
        ASSERT_TRUE(b);
        for (std::size_t i = 0; i < p.capacity(b); i++)
            b.base[i] = std::byte{1};
        p.release(b);
    }
}

TEST(PoolPlacer, TrimsABlockAndItsCount) {
    memory::Arena arena(2 * kMiB, kMiB);
    PoolPlacer p(arena, 2 * kMiB);
    const memory::Block big = p.place(kMiB);
    const memory::Block b = p.trim(big, 1000);
    EXPECT_EQ(b.base, big.base);
    EXPECT_EQ(p.out(), kKiB);
    EXPECT_EQ(arena.in_use(), kKiB);
    p.release(b);
    EXPECT_EQ(p.out(), 0U);
}

/// Holds three streams of one arena. Each has a reservation, and some memory is unreserved.
struct Three {
    memory::Arena arena{4 * kMiB, kMiB};
    Reservations reservations{arena.capacity()};
    PoolPlacer a = placer();
    PoolPlacer b = placer();
    PoolPlacer c = placer();

    PoolPlacer placer() {
        reservations.reserve(kMiB);
        return {arena, reservations, kMiB};
    }
    static std::size_t take_all(PoolPlacer& p, std::size_t bytes, std::vector<memory::Block>& blocks) {
        std::size_t n = 0;
        while (const memory::Block block = p.place(bytes)) {
            blocks.push_back(block);
            n++;
        }
        return n;
    }
};

TEST(PoolPlacer, LendsWhatIsUnreservedAndKeepsEveryReservation) {
    Three t;
    std::vector<memory::Block> of_a, of_b, of_c;
    EXPECT_EQ(Three::take_all(t.a, 256 * kKiB, of_a), 8U) << "its own, and what is nobody's";
    EXPECT_EQ(Three::take_all(t.b, 256 * kKiB, of_b), 4U);
    EXPECT_EQ(Three::take_all(t.c, 256 * kKiB, of_c), 4U);
    EXPECT_EQ(t.arena.in_use(), t.arena.capacity());
    // Borrowed memory goes to the first stream that asks.
    t.a.release(of_a.back());
    of_a.pop_back();
    EXPECT_EQ(Three::take_all(t.c, 256 * kKiB, of_c), 1U);
    EXPECT_FALSE(t.a.place(1));
    // Reserved memory does not.
    t.b.release(of_b.back());
    of_b.pop_back();
    EXPECT_FALSE(t.a.place(1));
    EXPECT_FALSE(t.c.place(1));
    of_b.push_back(t.b.place(256 * kKiB));
    EXPECT_TRUE(of_b.back());
    for (const auto& [p, blocks] : {std::pair{&t.a, &of_a}, {&t.b, &of_b}, {&t.c, &of_c}})
        for (const memory::Block block : *blocks)
            p->release(block);
    EXPECT_EQ(Three::take_all(t.b, 256 * kKiB, of_b), 8U) << "everything is as at the beginning";
}

TEST(PoolPlacer, CountsManyFreedBlocksAtOnce) {
    Three t;
    std::vector<memory::Block> of_a, of_b;
    EXPECT_EQ(Three::take_all(t.a, 256 * kKiB, of_a), 8U) << "its own, and what is nobody's";
    std::size_t bytes = 0;
    for (const memory::Block block : of_a)
        bytes += t.a.free(block);
    EXPECT_EQ(bytes, 2 * kMiB);
    EXPECT_FALSE(t.a.place(1)) << "not counted yet";
    t.a.count_freed(bytes);
    EXPECT_EQ(t.a.out(), 0U);
    EXPECT_EQ(Three::take_all(t.b, 256 * kKiB, of_b), 8U);
}

TEST(PoolPlacer, IsMadeWithoutAQuotaWhileTheLcoreUsesTheOthers) {
    memory::Arena arena(2 * kMiB, kMiB);
    Reservations reservations(arena.capacity());
    reservations.reserve(kMiB);
    PoolPlacer running(arena, reservations, kMiB);
    running.set_can_wait(true);
    std::atomic<bool> stop = false;
    bool refused = false;
    std::thread lcore([&] {
        while (!refused && !stop.load(std::memory_order_relaxed)) {
            const memory::Block block = running.place(kKiB);
            refused = !block;
            if (block)
                running.release(block);
        }
    });
    for (int i = 0; i < 2'000'000; i++) {
        PoolPlacer fresh(arena, reservations, 0);
        fresh.set_can_wait(true);
    }
    stop = true;
    lcore.join();
    EXPECT_FALSE(refused);
    EXPECT_EQ(running.available(), arena.capacity());
    running.set_can_wait(false);
    EXPECT_EQ(running.available(), arena.capacity()) << "all promises are its own";
}

TEST(PoolPlacer, CountsWhatATrimGivesBackToTheOthers) {
    Three t;
    std::vector<memory::Block> of_a, of_b;
    const memory::Block big = t.a.place(kMiB);
    ASSERT_EQ(Three::take_all(t.a, 256 * kKiB, of_a), 4U);
    EXPECT_EQ(Three::take_all(t.b, 256 * kKiB, of_b), 4U);
    (void)t.a.trim(big, 256 * kKiB);
    EXPECT_EQ(Three::take_all(t.b, 256 * kKiB, of_b), 3U);
}

}  // namespace
}  // namespace spead::heap
