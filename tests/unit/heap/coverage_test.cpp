// SPDX-License-Identifier: BSD-3-Clause
#include "heap/coverage.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::heap {
namespace {

/// Holds a coverage with room for `capacity` ranges.
class Covered {
  public:
    explicit Covered(std::uint32_t capacity = 8) : ranges_(capacity) { c_.reset(ranges_.data(), capacity); }

    Cover add(std::uint64_t begin, std::uint64_t end) {
        const Coverage before = c_;
        const std::vector<Range> ranges_before = list();
        const Cover foretold = c_.test(begin, end);
        const Cover result = c_.add(begin, end);
        EXPECT_EQ(foretold, result) << "test() and add() disagree about " << begin << ".." << end;
        if (result != Cover::added) {
            EXPECT_EQ(c_.prefix(), before.prefix());
            EXPECT_EQ(c_.received(), before.received());
            EXPECT_EQ(list(), ranges_before) << "a refused range changed something";
        }
        return result;
    }
    void grow(std::uint32_t capacity) {
        std::vector<Range> next(capacity);
        c_.move_to(next.data(), capacity);
        ranges_ = std::move(next);
    }
    std::vector<Range> list() const { return {c_.ranges().begin(), c_.ranges().end()}; }
    const Coverage* operator->() const { return &c_; }

  private:
    std::vector<Range> ranges_;
    Coverage c_;
};

TEST(Coverage, GrowsItsPrefixWithWhatComesInOrder) {
    Covered c;
    EXPECT_EQ(c.add(0, 10), Cover::added);
    EXPECT_EQ(c.add(10, 11), Cover::added);
    EXPECT_EQ(c->prefix(), 11U);
    EXPECT_EQ(c->extent(), 11U);
    EXPECT_EQ(c->received(), 11U);
    EXPECT_TRUE(c.list().empty());
}

TEST(Coverage, RestartsWithAPrefixInTheSameRoom) {
    std::array<Range, 2> room{};
    Coverage c;
    c.reset(room.data(), 2);
    EXPECT_EQ(c.add(5, 6), Cover::added);
    EXPECT_EQ(c.add(0, 1), Cover::added);
    c.restart(10);
    EXPECT_EQ(c.prefix(), 10U);
    EXPECT_EQ(c.received(), 10U);
    EXPECT_EQ(c.extent(), 10U);
    EXPECT_TRUE(c.ranges().empty());
    EXPECT_EQ(c.capacity(), 2U);
    EXPECT_EQ(c.add(20, 21), Cover::added);
    EXPECT_EQ(c.add(30, 31), Cover::added);
    EXPECT_EQ(c.add(40, 41), Cover::full);
}

TEST(Coverage, KeepsRangesSortedDisjointAndApart) {
    Covered c;
    EXPECT_EQ(c.add(40, 50), Cover::added);
    EXPECT_EQ(c.add(20, 30), Cover::added);
    EXPECT_EQ(c.add(60, 70), Cover::added);
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 30}, {40, 50}, {60, 70}}));
    EXPECT_EQ(c->prefix(), 0U);
    EXPECT_EQ(c->extent(), 70U);
}

TEST(Coverage, JoinsARangeWithItsNeighbours) {
    Covered c;
    c.add(20, 30);
    c.add(40, 50);
    EXPECT_EQ(c.add(30, 33), Cover::added) << "behind one";
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 33}, {40, 50}}));
    EXPECT_EQ(c.add(38, 40), Cover::added) << "before one";
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 33}, {38, 50}}));
    EXPECT_EQ(c.add(33, 38), Cover::added) << "between two";
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 50}}));
    EXPECT_EQ(c.add(0, 20), Cover::added) << "from the prefix to the first";
    EXPECT_EQ(c->prefix(), 50U);
    EXPECT_TRUE(c.list().empty());
}

TEST(Coverage, JoinsThePrefixWithTheFirstRangeOnly) {
    Covered c;
    c.add(20, 30);
    c.add(40, 50);
    EXPECT_EQ(c.add(0, 20), Cover::added);
    EXPECT_EQ(c->prefix(), 30U);
    EXPECT_EQ(c.list(), (std::vector<Range>{{40, 50}}));
}

TEST(Coverage, GrowsThePrefixUpToAHoleBeforeTheFirstRange) {
    Covered c;
    c.add(20, 30);
    EXPECT_EQ(c.add(0, 19), Cover::added);
    EXPECT_EQ(c->prefix(), 19U);
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 30}}));
}

TEST(Coverage, KnowsWhatItHasAndWhatItHasInPart) {
    Covered c;
    c.add(0, 10);
    c.add(20, 30);
    for (const auto& [begin, end] : {std::pair{0, 10}, {0, 1}, {9, 10}, {20, 30}, {25, 26}, {29, 30}})
        EXPECT_EQ(c.add(static_cast<unsigned>(begin), static_cast<unsigned>(end)), Cover::known)
            << begin << ".." << end;
    for (const auto& [begin, end] :
         {std::pair{0, 11}, {9, 11}, {5, 25}, {19, 21}, {10, 30}, {29, 31}, {19, 31}, {0, 40}, {15, 40}})
        EXPECT_EQ(c.add(static_cast<unsigned>(begin), static_cast<unsigned>(end)), Cover::partial)
            << begin << ".." << end;
}

TEST(Coverage, IsFullOnlyForARangeThatStandsAlone) {
    Covered c(2);
    c.add(20, 30);
    c.add(40, 50);
    EXPECT_EQ(c.add(60, 70), Cover::full);
    EXPECT_EQ(c.add(32, 38), Cover::full);
    EXPECT_EQ(c.add(10, 15), Cover::full);
    EXPECT_EQ(c.add(50, 60), Cover::added) << "behind the last";
    EXPECT_EQ(c.add(0, 10), Cover::added) << "at the prefix";
    EXPECT_EQ(c.add(38, 40), Cover::added) << "before one";
    EXPECT_EQ(c.add(30, 38), Cover::added) << "between two";
    EXPECT_EQ(c.add(70, 80), Cover::added) << "a range has become free";
}

TEST(Coverage, GoesOnInALargerArray) {
    Covered c(1);
    c.add(20, 30);
    EXPECT_EQ(c.add(40, 50), Cover::full);
    c.grow(2);
    EXPECT_EQ(c->capacity(), 2U);
    EXPECT_EQ(c.add(40, 50), Cover::added);
    EXPECT_EQ(c.list(), (std::vector<Range>{{20, 30}, {40, 50}}));
}

TEST(Coverage, ReachesTheLargestHeapsEnd) {
    Covered c;
    EXPECT_EQ(c.add(kMaxHeapBytes - 1, kMaxHeapBytes), Cover::added);
    EXPECT_EQ(c->extent(), kMaxHeapBytes);
    EXPECT_EQ(c.add(kMaxHeapBytes - 2, kMaxHeapBytes), Cover::partial);
    EXPECT_EQ(c.add(0, kMaxHeapBytes), Cover::partial);
    EXPECT_EQ(c.add(0, kMaxHeapBytes - 1), Cover::added);
    EXPECT_EQ(c->prefix(), kMaxHeapBytes);
    EXPECT_EQ(c->received(), kMaxHeapBytes);
    EXPECT_EQ(c.add(0, kMaxHeapBytes), Cover::known);
}

/// Models a coverage as one bool for each byte.
class ByteModel {
  public:
    explicit ByteModel(std::size_t length) : there_(length, false) {}

    Cover add(std::size_t begin, std::size_t end, std::size_t capacity) {
        const auto from = there_.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto to = there_.begin() + static_cast<std::ptrdiff_t>(end);
        const auto known = std::count(from, to, true);
        if (known == to - from)
            return Cover::known;
        if (known != 0)
            return Cover::partial;
        std::fill(from, to, true);
        if (ranges().size() > capacity) {
            std::fill(from, to, false);
            return Cover::full;
        }
        return Cover::added;
    }
    std::size_t prefix() const {
        return static_cast<std::size_t>(std::find(there_.begin(), there_.end(), false) - there_.begin());
    }
    std::vector<Range> ranges() const {
        std::vector<Range> out;
        for (std::size_t i = prefix(); i < there_.size(); i++) {
            if (!there_[i])
                continue;
            if (out.empty() || out.back().end != i)
                out.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
            out.back().end++;
        }
        return out;
    }
    std::size_t received() const {
        return static_cast<std::size_t>(std::count(there_.begin(), there_.end(), true));
    }

  private:
    std::vector<bool> there_;
};

TEST(Coverage, AgreesWithOneBoolPerByte) {
    for (std::uint64_t seed = 1; seed <= 300; seed++) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed);
        std::mt19937_64 random(seed);
        const std::size_t length = 1 + random() % 300;
        const auto longest = 1 + random() % std::min<std::size_t>(length, 40);
        std::uint32_t capacity = 1 + static_cast<std::uint32_t>(random() % 12);
        Covered c(capacity);
        ByteModel model(length);
        for (int step = 0; step < 300; step++) {
            const std::size_t begin = random() % length;
            const std::size_t end = std::min(length, begin + 1 + random() % longest);
            const Cover expected = model.add(begin, end, capacity);
            ASSERT_EQ(c.add(begin, end), expected) << begin << ".." << end;
            ASSERT_EQ(c->prefix(), model.prefix());
            ASSERT_EQ(c->received(), model.received());
            ASSERT_EQ(c.list(), model.ranges());
            if (expected == Cover::full && random() % 4 == 0) {
                capacity *= 2;
                c.grow(capacity);
            }
        }
    }
}

}  // namespace
}  // namespace spead::heap
