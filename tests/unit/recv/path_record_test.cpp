// SPDX-License-Identifier: BSD-3-Clause
#include "recv/path_record.hpp"

#include <gtest/gtest.h>

namespace spead::recv::path_record_test {
namespace {

constexpr std::uint64_t kBehind = 1000;

/// Gives packets to a record, as a lane does.
struct Rig {
    PathRecord record{kBehind};
    PathRecord::Packets packets{};
    std::uint64_t now = 1'000'000;
    std::uint64_t unique = 0;

    static PathRecord::Packet packet(std::uint64_t n) { return {n / 8, n % 8 * 100, 100}; }
    PathRecord::Now time() const { return {now, unique}; }
    /// Gives a packet that is new.
    void first(std::size_t path, std::uint64_t n) {
        packets[path]++;
        unique++;
        if (record.is_awake())
            record.brought(path, packet(n), time());
    }
    /// Gives a packet that is not; returns whether its path had brought it.
    bool again(std::size_t path, std::uint64_t n) {
        packets[path]++;
        return record.again(path, packet(n), time());
    }
    bool alone(std::size_t path) {
        packets[path]++;
        return record.is_alone(path, packets);
    }
    void look(std::uint64_t later = 0) {
        now += later;
        record.look(packets, time());
    }
    /// Lets the second path be silent until the record rests.
    void rest() {
        look();
        for (std::uint64_t n = 0; n <= PathRecord::kBusy; n++)
            first(0, 100'000 + n);
        look(5 * kBehind);
    }
};

TEST(PathRecord, ACopyIsNotARepeatAndARepeatIsNoCopy) {
    Rig rig;
    rig.first(0, 1);
    EXPECT_TRUE(rig.again(0, 1)) << "before its copy";
    EXPECT_FALSE(rig.again(1, 1));
    EXPECT_TRUE(rig.again(1, 1));
    EXPECT_TRUE(rig.again(0, 1)) << "after its copy";
    rig.first(1, 2);
    EXPECT_FALSE(rig.again(0, 2)) << "either may lead";
    EXPECT_TRUE(rig.again(1, 2));
    EXPECT_FALSE(rig.record.is_alone(0, rig.packets));
}

TEST(PathRecord, KnowsAPacketAfterSomeHundredOthers) {
    Rig rig;
    constexpr std::uint64_t kLater = 250;
    for (std::uint64_t n = 0; n < 20 * kLater; n++) {
        rig.first(0, n);
        if (n >= kLater) {
            ASSERT_FALSE(rig.again(1, n - kLater)) << n;
            ASSERT_TRUE(rig.again(0, n - kLater)) << n;
        }
    }
}

TEST(PathRecord, WhatItHasForgottenIsNoRepeat) {
    Rig rig;
    rig.first(0, 1);
    rig.now += 2 * kBehind;
    EXPECT_FALSE(rig.again(0, 1)) << "a sender may begin anew";
    EXPECT_TRUE(rig.again(0, 1)) << "and is known from there on";
    for (std::uint64_t n = 2; n < 40'000; n++)
        rig.first(0, n);
    EXPECT_FALSE(rig.again(0, 1)) << "others took its place";
}

TEST(PathRecord, CountsThatBeginAnewAreNoRepeats) {
    Rig rig;
    for (int life = 0; life < 3; life++)
        for (std::uint64_t n = 0; n < 100; n++) {
            rig.first(life % 2, n);
            EXPECT_FALSE(rig.again(1 - life % 2, n)) << "its former life is over";
        }
}

TEST(PathRecord, RestsWhileOnePathIsSilentAndTheOtherIsBusy) {
    Rig rig;
    rig.rest();
    EXPECT_FALSE(rig.record.is_awake());
    EXPECT_TRUE(rig.alone(0)) << "nothing else can have brought it";
    EXPECT_FALSE(rig.record.is_awake());
}

TEST(PathRecord, DoesNotRestForSlowStreams) {
    Rig rig;
    for (std::uint64_t n = 0; n < 100; n++) {
        rig.first(0, n);
        rig.look(10 * kBehind);
        EXPECT_TRUE(rig.record.is_awake());
    }
}

TEST(PathRecord, WakesForAPathThatLeadsAfterItsSilence) {
    Rig rig;
    rig.rest();
    rig.first(1, 1);
    EXPECT_FALSE(rig.alone(0)) << "the copy of what the other one has just brought";
    EXPECT_TRUE(rig.record.is_awake());
}

TEST(PathRecord, WakesForAPathThatIsBehindAfterItsSilence) {
    Rig rig;
    rig.rest();
    rig.first(0, 1);
    EXPECT_FALSE(rig.alone(1));
    EXPECT_TRUE(rig.record.is_awake());
    EXPECT_FALSE(rig.again(1, 1));
}

TEST(PathRecord, WakesAtALook) {
    Rig rig;
    rig.rest();
    rig.first(1, 1);
    rig.look(1);
    EXPECT_TRUE(rig.record.is_awake());
}

TEST(PathRecord, PacketsOnTheirWayAreNotPassed) {
    Rig rig;
    for (std::uint64_t n = 0; n < 10; n++)
        rig.first(0, n);
    EXPECT_EQ(rig.record.passed(0), 10U);
    EXPECT_EQ(rig.record.passed(1), 0U);
    rig.again(1, 4);
    EXPECT_EQ(rig.record.passed(1), 1U) << "those before its first one were never on that path";
    rig.again(1, 7);
    EXPECT_EQ(rig.record.passed(1), 4U) << "5 and 6 are lost; 8 and 9 may be on their way";
    rig.first(1, 20);
    EXPECT_EQ(rig.record.passed(1), 7U);
}

TEST(PathRecord, PacketsBeforeThePathsFirstOneAreNotPassedWhenTheOtherPathBringsThemLater) {
    Rig rig;
    // The first path leads by 10, and both begin in the middle of the stream.
    for (std::uint64_t n = 10; n < 40; n++) {
        rig.first(0, n);
        if (n < 20)
            rig.first(1, n - 10);
        else
            rig.again(1, n - 10);
    }
    EXPECT_EQ(rig.unique, 40U);
    EXPECT_EQ(rig.record.passed(0), 30U) << "it brought each of those that it could";
    EXPECT_EQ(rig.record.passed(1), 20U);
    rig.now += 2 * kBehind;
    rig.first(1, 100);
    rig.first(0, 101);
    EXPECT_EQ(rig.record.passed(0), 32U) << "later ones are lost";
}

TEST(PathRecord, OldPacketsArePassed) {
    Rig rig;
    rig.first(0, 0);
    rig.again(1, 0);
    rig.now += 2 * kBehind;
    for (std::uint64_t n = 1; n < 10; n++)
        rig.first(0, n);
    rig.look();
    for (std::uint64_t n = 10; n < 15; n++)
        rig.first(0, n);
    EXPECT_EQ(rig.record.passed(1), 1U);
    rig.look(kBehind + 1);
    EXPECT_EQ(rig.record.passed(1), 10U) << "10 to 14 may have come at any time since";
}

}  // namespace
}  // namespace spead::recv::path_record_test
