// SPDX-License-Identifier: BSD-3-Clause
#include "send/turns.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::send {
namespace {

class TurnsTest : public testing::Test {
  protected:
    TurnsTest() {
        for (std::uint64_t i = 0; i < slots.size(); ++i)
            slots[i].serial = i;
    }
    /// Returns the heaps from the one whose turn it is, as the ring goes round.
    std::vector<std::uint64_t> round() const {
        std::vector<std::uint64_t> all;
        turns.for_each([&all](const Slot& slot) { all.push_back(slot.serial); });
        return all;
    }
    using Serials = std::vector<std::uint64_t>;

    std::vector<Slot> slots{16};
    Turns turns;
};

TEST_F(TurnsTest, ARingOfNone) {
    EXPECT_TRUE(turns.empty());
    EXPECT_EQ(round(), Serials{});
    turns.remove(slots[0]);
    EXPECT_TRUE(turns.empty());
}

TEST_F(TurnsTest, OneHeapHasEveryTurn) {
    turns.add(slots[3]);
    EXPECT_FALSE(turns.empty());
    EXPECT_FALSE(turns.several());
    EXPECT_EQ(&turns.current(), &slots[3]);
    turns.pass();
    EXPECT_EQ(&turns.current(), &slots[3]);
    turns.remove(slots[3]);
    EXPECT_TRUE(turns.empty());
    turns.remove(slots[3]);
    EXPECT_TRUE(turns.empty());
}

TEST_F(TurnsTest, ALaterTurnIsThatOfTheHeapThatHasItAfterSoManyPasses) {
    for (std::size_t n = 1; n <= 6; ++n) {
        turns.add(slots[n]);
        const Slot* const later = &turns.later();
        for (int i = 0; i < 4; ++i)
            turns.pass();
        EXPECT_EQ(&turns.current(), later) << n << " heaps";
    }
}

TEST_F(TurnsTest, TurnsGoRoundInTheOrderInWhichHeapsCame) {
    for (const std::size_t i : {2U, 0U, 1U})
        turns.add(slots[i]);
    EXPECT_TRUE(turns.several());
    EXPECT_EQ(round(), (Serials{2, 0, 1}));
    turns.pass();
    EXPECT_EQ(round(), (Serials{0, 1, 2}));
}

TEST_F(TurnsTest, AHeapThatLeavesInItsTurnGivesItToTheNext) {
    for (const std::size_t i : {0U, 1U, 2U})
        turns.add(slots[i]);
    turns.remove(slots[0]);
    EXPECT_EQ(round(), (Serials{1, 2}));
    turns.pass();
    turns.remove(slots[2]);
    EXPECT_EQ(round(), (Serials{1}));
}

TEST_F(TurnsTest, AHeapThatLeavesOutOfItsTurnChangesNobodys) {
    for (const std::size_t i : {0U, 1U, 2U, 3U})
        turns.add(slots[i]);
    turns.pass();
    turns.remove(slots[0]);
    turns.remove(slots[2]);
    EXPECT_EQ(round(), (Serials{1, 3}));
}

TEST_F(TurnsTest, AnyOperationsLeaveWhatAListWouldLeave) {
    std::mt19937 random(3);
    std::deque<Slot*> model;  // the one whose turn it is first
    for (int i = 0; i < 20'000; ++i) {
        Slot& slot = slots[random() % slots.size()];
        const auto found = std::find(model.begin(), model.end(), &slot);
        if (random() % 3 == 0 && !model.empty()) {
            turns.pass();
            model.push_back(model.front());
            model.pop_front();
        } else if (found == model.end()) {
            turns.add(slot);
            model.push_back(&slot);
        } else {
            turns.remove(slot);
            model.erase(found);
        }
        Serials expected;
        for (const Slot* const s : model)
            expected.push_back(s->serial);
        ASSERT_EQ(round(), expected);
        ASSERT_EQ(turns.empty(), model.empty());
        if (!model.empty()) {
            ASSERT_EQ(turns.several(), model.size() > 1);
        }
    }
}

}  // namespace
}  // namespace spead::send
