// SPDX-License-Identifier: BSD-3-Clause
#include "memory/arena.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::memory {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = kKiB * kKiB;

TEST(Arena, HoldsNothingByItself) {
    Arena a;
    EXPECT_FALSE(a.alloc(1));
    EXPECT_FALSE(a.alloc(0));
    EXPECT_EQ(a.capacity(), 0U);
    EXPECT_EQ(a.in_use(), 0U);
}

TEST(Arena, RoundsItsSizeUpToWholeBlocksOfTheLargestClass) {
    EXPECT_EQ(Arena(3 * kMiB, 2 * kMiB).capacity(), 4 * kMiB);
    EXPECT_EQ(Arena(1, kMiB).capacity(), kMiB);
    EXPECT_EQ(Arena(kMiB, 1).largest(), Arena::kMinUnit);
    EXPECT_EQ(Arena(kMiB, 100 * kKiB).largest(), 128 * kKiB);
}

TEST(Arena, GivesBlocksOfThePowerOfTwoThatHoldsTheBytes) {
    Arena a(4 * kMiB, kMiB);
    ASSERT_EQ(a.unit(), 256U);
    for (const auto& [bytes, size] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 256},
                                                                                      {1, 256},
                                                                                      {256, 256},
                                                                                      {257, 512},
                                                                                      {512, 512},
                                                                                      {513, 1024},
                                                                                      {kMiB / 2 + 1, kMiB},
                                                                                      {kMiB, kMiB}}) {
        const Block b = a.alloc(bytes);
        ASSERT_TRUE(b) << bytes;
        EXPECT_EQ(a.size_of(b), size) << bytes;
        EXPECT_EQ(a.class_size(bytes), size) << bytes;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.base) % Arena::kAlignment, 0U);
        a.free(b);
    }
}

TEST(Arena, RefusesMoreThanTheLargestClassHoweverMuch) {
    Arena a(4 * kMiB, kMiB);
    for (const std::size_t bytes :
         {kMiB + 1, 4 * kMiB, std::size_t{1} << 40, std::size_t{1} << 62, ~std::size_t{0}})
        EXPECT_FALSE(a.alloc(bytes)) << bytes;
    EXPECT_EQ(a.in_use(), 0U);
}

TEST(Arena, GivesAllOfItsMemoryAndThenNone) {
    Arena a(2 * kMiB, kMiB);
    for (const std::size_t size : {std::size_t{256}, 4 * kKiB, kMiB}) {
        std::vector<Block> blocks;
        while (const Block b = a.alloc(size))
            blocks.push_back(b);
        EXPECT_EQ(blocks.size(), 2 * kMiB / size);
        EXPECT_EQ(a.in_use(), 2 * kMiB);
        EXPECT_FALSE(a.alloc(1));
        for (const Block b : blocks)
            a.free(b);
        EXPECT_EQ(a.in_use(), 0U);
    }
}

TEST(Arena, JoinsFreedBlocksAgainWhenALargerOneIsWanted) {
    Arena a(2 * kMiB, 2 * kMiB);
    std::vector<Block> blocks;
    while (const Block b = a.alloc(256))
        blocks.push_back(b);
    EXPECT_EQ(blocks.size(), 8192U) << "more than the stack of a class keeps";
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(1));
    for (std::size_t i = 0; i + 1 < blocks.size(); i++)
        a.free(blocks[i]);
    EXPECT_FALSE(a.alloc(2 * kMiB)) << "one block is still out";
    a.free(blocks.back());
    const Block whole = a.alloc(2 * kMiB);
    EXPECT_TRUE(whole);
    a.free(whole);
}

TEST(Arena, GivesTheBlockThatWasFreedLast) {
    Arena a(2 * kMiB, kMiB);
    const Block first = a.alloc(1000);
    const Block second = a.alloc(1000);
    EXPECT_NE(first.base, second.base);
    a.free(first);
    a.free(second);
    EXPECT_EQ(a.alloc(1000).base, second.base);
    EXPECT_EQ(a.alloc(1000).base, first.base);
}

TEST(Arena, GivesTheFirstBlocksFromTheBeginning) {
    // Those are resident first where not all is (Untouched).
    for (const std::size_t bytes : {256 * kKiB, kMiB}) {
        Arena a(8 * kMiB, kMiB);
        const std::byte* const begin = a.alloc(bytes).base;
        for (std::size_t i = 1; i < 6; i++)
            EXPECT_EQ(a.alloc(bytes).base, begin + i * bytes) << i;
    }
}

TEST(Arena, ShrinksABlockInPlaceAndGivesTheRestAway) {
    Arena a(kMiB, kMiB);
    Block b = a.alloc(kMiB);
    std::memset(b.base, 0x5a, kMiB);
    const Block small = a.shrink(b, 1000);
    EXPECT_EQ(small.base, b.base);
    EXPECT_EQ(a.size_of(small), kKiB);
    EXPECT_EQ(a.in_use(), kKiB);
    std::vector<Block> others;
    std::size_t bytes = 0;
    for (std::size_t size = kMiB / 2; size >= kKiB; size /= 2) {
        others.push_back(a.alloc(size));
        ASSERT_TRUE(others.back()) << size;
        std::memset(others.back().base, 0, size);
        bytes += size;
    }
    EXPECT_EQ(bytes + kKiB, kMiB);
    EXPECT_TRUE(std::all_of(small.base, small.base + 1000, [](std::byte x) { return x == std::byte{0x5a}; }));
    a.free(small);
    for (const Block other : others)
        a.free(other);
    const Block whole = a.alloc(kMiB);
    EXPECT_TRUE(whole);
}

TEST(Arena, ShrinkingToTheSameClassChangesNothing) {
    Arena a(kMiB, kMiB);
    const Block b = a.alloc(1000);
    const Block same = a.shrink(b, 513);
    EXPECT_EQ(same.base, b.base);
    EXPECT_EQ(same.order, b.order);
    EXPECT_EQ(a.in_use(), kKiB);
    const Block least = a.shrink(same, 0);
    EXPECT_EQ(a.size_of(least), a.unit());
}

TEST(Arena, KeepsTheBookkeepingOfLargeMemorySmall) {
    Arena a(64 * kMiB, 64 * kMiB);
    EXPECT_EQ(a.unit(), 256U);
    EXPECT_EQ(a.largest(), 64 * kMiB);
    EXPECT_TRUE(a.alloc(64 * kMiB));
    EXPECT_FALSE(a.alloc(1));
}

TEST(Arena, MovesWithItsBlocks) {
    Arena a(kMiB, kMiB);
    const Block b = a.alloc(1000);
    std::memset(b.base, 1, 1000);
    Arena c = std::move(a);
    EXPECT_EQ(c.in_use(), kKiB);
    EXPECT_EQ(b.base[999], std::byte{1});
    c.free(b);
    EXPECT_EQ(c.in_use(), 0U);
}

TEST(Arena, ThatDoesNotFitTheMachineIsRefusedWithTheSum) {
    const std::size_t available = available_memory();
    if (available == 0)
        GTEST_SKIP() << "/proc/meminfo does not tell what is available";
    try {
        Arena a(available * 2, kMiB);
        FAIL() << "twice the available memory was mapped";
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("MiB are available"), std::string::npos) << e.what();
    }
}

TEST(ArenaPoison, ReportsFreeMemoryAndWhatLiesBehindABlock) {
    if (!kPoisons)
        GTEST_SKIP() << "only with AddressSanitizer";
    Arena a(kMiB, kMiB);
    const Block b = a.alloc(1000);
    EXPECT_FALSE(is_poisoned(b.base));
    EXPECT_FALSE(is_poisoned(b.base + 999));
    EXPECT_TRUE(is_poisoned(b.base + 1000)) << "within its class, but not asked for";
    const Block small = a.shrink(b, 100);
    EXPECT_FALSE(is_poisoned(b.base + 99));
    EXPECT_TRUE(is_poisoned(b.base + 104));
    a.free(small);
    EXPECT_TRUE(is_poisoned(b.base));
    const Block again = a.alloc(kMiB);
    EXPECT_FALSE(is_poisoned(again.base + kMiB - 1));
    a.free(again);
}

/// Models the allocated blocks, by address.
class Model {
  public:
    explicit Model(Arena& arena) : arena_(arena) {}

    void add(Block b, std::size_t bytes, std::uint8_t mark) {
        const std::size_t size = arena_.size_of(b);
        ASSERT_GE(size, bytes);
        if (first_ == nullptr)
            first_ = b.base;
        ASSERT_EQ(static_cast<std::size_t>(std::abs(b.base - first_)) % arena_.unit(), 0U);
        const auto next = blocks_.lower_bound(b.base);
        if (next != blocks_.end()) {
            ASSERT_LE(b.base + size, next->first) << "overlaps the block behind it";
        }
        if (next != blocks_.begin()) {
            const auto& [base, entry] = *std::prev(next);
            ASSERT_LE(base + arena_.size_of(entry.block), b.base) << "overlaps the block before it";
        }
        std::memset(b.base, mark, bytes);
        blocks_[b.base] = {b, bytes, mark};
        in_use_ += size;
    }
    Block take(std::size_t index) {
        auto it = blocks_.begin();
        std::advance(it, index);
        const Entry e = it->second;
        EXPECT_TRUE(std::all_of(e.block.base, e.block.base + e.bytes, [&](std::byte x) {
            return x == std::byte{e.mark};
        })) << "somebody else wrote into the block";
        in_use_ -= arena_.size_of(e.block);
        bytes_ = e.bytes;
        mark_ = e.mark;
        blocks_.erase(it);
        return e.block;
    }
    std::size_t count() const { return blocks_.size(); }
    std::size_t in_use() const { return in_use_; }
    std::size_t taken_bytes() const { return bytes_; }
    std::uint8_t taken_mark() const { return mark_; }

  private:
    struct Entry {
        Block block;
        std::size_t bytes;
        std::uint8_t mark;
    };

    Arena& arena_;
    std::map<std::byte*, Entry> blocks_;
    std::byte* first_ = nullptr;
    std::size_t in_use_ = 0;
    std::size_t bytes_ = 0;
    std::uint8_t mark_ = 0;
};

TEST(Arena, AgreesWithAModelUnderRandomUse) {
    for (std::uint64_t seed = 1; seed <= 12; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        Arena arena(2 * kMiB, seed % 2 == 0 ? kMiB : 64 * kKiB);
        Model model(arena);
        std::size_t largest_order = 0;
        while (arena.unit() << largest_order < arena.largest())
            largest_order++;
        // Phases in which memory fills and phases in which it empties.
        for (int step = 0; step < 6000; step++) {
            const bool filling = step / 700 % 2 == 0;
            const auto dice = random() % 10;
            if (dice < (filling ? 6U : 3U) || model.count() == 0) {
                const std::size_t bytes = 1 + random() % (arena.unit() << random() % (largest_order + 1));
                if (const Block b = arena.alloc(bytes))
                    model.add(b, bytes, static_cast<std::uint8_t>(random()));
                if (HasFatalFailure())
                    return;
            } else if (dice < 9) {
                arena.free(model.take(random() % model.count()));
            } else {
                const Block b = model.take(random() % model.count());
                const std::size_t bytes = random() % (model.taken_bytes() + 1);
                const Block s = arena.shrink(b, bytes);
                ASSERT_EQ(s.base, b.base);
                ASSERT_EQ(arena.size_of(s), arena.class_size(bytes));
                ASSERT_TRUE(std::all_of(s.base, s.base + bytes,
                                        [&](std::byte x) { return x == std::byte{model.taken_mark()}; }));
                model.add(s, bytes, model.taken_mark());
                if (HasFatalFailure())
                    return;
            }
            ASSERT_EQ(arena.in_use(), model.in_use()) << "step " << step;
            ASSERT_LE(arena.in_use(), arena.capacity());
        }
        while (model.count() != 0)
            arena.free(model.take(model.count() - 1));
        ASSERT_EQ(arena.in_use(), 0U);
        // Everything merges back: the whole memory can be had in largest blocks.
        std::size_t whole = 0;
        while (arena.alloc(arena.largest()))
            whole++;
        EXPECT_EQ(whole, arena.capacity() / arena.largest());
    }
}

TEST(Arena, FindsRoomWheneverAFreeBlockOfTheClassExists) {
    // Blocks that the stacks hold back must never make an alloc fail that joining could serve.
    for (std::uint64_t seed = 1; seed <= 20; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        Arena arena(kMiB, kMiB);
        std::vector<Block> small;
        while (const Block b = arena.alloc(kKiB))
            small.push_back(b);
        std::sort(small.begin(), small.end(), [](Block a, Block b) { return a.base < b.base; });
        // One aligned run of 64 blocks is freed, in any order, and some others beside it.
        const std::size_t run = random() % 16 * 64;
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < small.size(); i++)
            if (i / 64 * 64 == run || random() % 7 == 0)
                order.push_back(i);
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order)
            arena.free(small[i]);
        ASSERT_TRUE(arena.alloc(64 * kKiB));
    }
}

}  // namespace
}  // namespace spead::memory
