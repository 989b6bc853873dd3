// SPDX-License-Identifier: BSD-3-Clause
#include "heap/item_words.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace spead::heap {
namespace {

/// Holds a record with nothing but item words, and the blocks to which they move.
class Words {
  public:
    Words() {
        r_.items = r_.inline_items.data();
        r_.item_capacity = Record::kInlineItems;
    }

    ItemsAdded add(std::uint64_t word) { return add_item_word(r_, word); }

    /// Adds a word. When the table is full, it grows as in the window.
    ItemsAdded add_growing(std::uint64_t word) {
        const ItemsAdded a = add(word);
        if (a != ItemsAdded::full)
            return a;
        grow(std::max(64U, r_.item_capacity * 2U));
        return add(word);
    }

    void grow(std::uint32_t capacity) {
        const std::size_t bytes = item_block_bytes(capacity);
        // Allocated to the byte: the sanitizer sees what goes beyond.
        auto next = std::make_unique<std::uint64_t[]>((bytes + 7) / 8);
        auto* const base = reinterpret_cast<std::byte*>(next.get());
        std::fill_n(base, bytes, std::byte{0xa5});
        move_items(r_, base, capacity);
        r_.item_block.base = base;
        r_.item_block.order = 0;
        block_ = std::move(next);
    }

    std::vector<std::uint64_t> all() const { return {r_.items, r_.items + r_.item_count}; }
    const Record& record() const { return r_; }

  private:
    Record r_{};
    std::unique_ptr<std::uint64_t[]> block_;
};

TEST(ItemWords, AreTakenOnceWhileInline) {
    Words w;
    EXPECT_EQ(w.add(5), ItemsAdded::some);
    EXPECT_EQ(w.add(0), ItemsAdded::some) << "an addressed NULL at 0";
    EXPECT_EQ(w.add(5), ItemsAdded::none);
    EXPECT_EQ(w.add(0), ItemsAdded::none);
    EXPECT_EQ(w.all(), (std::vector<std::uint64_t>{5, 0}));
}

TEST(ItemWords, AreFullWhenTheInlinePlacesAre) {
    Words w;
    for (std::uint64_t i = 0; i < Record::kInlineItems; i++)
        EXPECT_EQ(w.add(i), ItemsAdded::some);
    EXPECT_EQ(w.add(3), ItemsAdded::none) << "a repeat needs no room";
    EXPECT_EQ(w.add(99), ItemsAdded::full);
    EXPECT_EQ(w.all().size(), Record::kInlineItems);
}

TEST(ItemWords, AreFullWhenTheBlockIs) {
    Words w;
    w.grow(64);
    for (std::uint64_t i = 0; i < 64; i++)
        EXPECT_EQ(w.add(i), ItemsAdded::some);
    EXPECT_EQ(w.add(63), ItemsAdded::none);
    EXPECT_EQ(w.add(64), ItemsAdded::full);
}

TEST(ItemWords, SurviveEveryMoveInOrder) {
    Words w;
    std::vector<std::uint64_t> expected;
    std::mt19937_64 random(1);
    while (expected.size() < kMaxItems) {
        const std::uint64_t word = random() % 20'000;
        const bool known = std::find(expected.begin(), expected.end(), word) != expected.end();
        ASSERT_EQ(w.add_growing(word), known ? ItemsAdded::none : ItemsAdded::some);
        if (!known)
            expected.push_back(word);
    }
    EXPECT_EQ(w.all(), expected);
    EXPECT_EQ(w.record().item_capacity, kMaxItems);
}

TEST(ItemWords, AreFoundAmongAnyNeighbours) {
    for (std::uint64_t seed = 1; seed <= 10; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        Words w;
        std::set<std::uint64_t> model;
        for (int i = 0; i < 5000; i++) {
            const std::uint64_t word = (random() % 64) << (random() % 57);
            ASSERT_EQ(w.add_growing(word) == ItemsAdded::some, model.insert(word).second);
        }
        ASSERT_EQ(w.all().size(), model.size());
    }
}

TEST(ItemWords, AreIndexedWithFewProbesWhateverBitsTheyDifferIn) {
    // Patterns that one packet can bring: ids in the top bits, addresses in the low ones, both at once.
    std::vector<std::function<std::uint64_t(std::uint64_t)>> patterns;
    for (unsigned bit = 0; bit <= 51; bit++)
        patterns.push_back([bit](std::uint64_t i) { return i << bit; });
    for (const unsigned address_bits : {40U, 48U})
        for (const std::uint64_t step : {1U, 8U, 1024U, 1472U})
            patterns.push_back([=](std::uint64_t i) { return (0x1000 + i) << address_bits | i * step; });
    for (std::size_t p = 0; p < patterns.size(); p++) {
        Words w;
        std::set<std::uint64_t> distinct;
        for (std::uint64_t i = 0; i < kMaxItems; i++)
            if (distinct.insert(patterns[p](i)).second) {
                ASSERT_EQ(w.add_growing(patterns[p](i)), ItemsAdded::some);
            }
        std::uint64_t total = 0;
        for (const std::uint64_t word : distinct)
            total += probes_of(w.record(), word);
        EXPECT_LE(total / distinct.size(), 3U) << "pattern " << p;
    }
}

TEST(ItemWords, ThatRepeatTheHeapsFirstOnesAreRecognisedAtOnce) {
    Words w;
    for (const std::uint64_t word : {5U, 6U, 7U})
        w.add(word);
    const auto repeats = [&](std::vector<std::uint64_t> words) {
        PacketView v;
        v.items = reinterpret_cast<const std::uint8_t*>(words.data());
        v.item_count = static_cast<std::uint32_t>(words.size());
        return repeats_items(w.record(), v);
    };
    EXPECT_TRUE(repeats({5, 6, 7}));
    EXPECT_TRUE(repeats({5}));
    EXPECT_FALSE(repeats({5, 7}));
    EXPECT_FALSE(repeats({5, 6, 7, 8}));
}

TEST(ItemWords, FillABlockOfTheSizeItSays) {
    EXPECT_EQ(item_block_bytes(64), 64U * 8 + 128U * 2);
    EXPECT_EQ(item_block_bytes(kMaxItems), kMaxItems * 12);
}

}  // namespace
}  // namespace spead::heap
