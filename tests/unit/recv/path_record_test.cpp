// SPDX-License-Identifier: BSD-3-Clause
#include "recv/path_record.hpp"

#include <array>

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

TEST(PathRecord, PacketsOnTheirWayAreNotPassedWhereThePathsLeadByTurns) {
    // Two endpoints by turns: the first path leads by kDelay packets with one, the second with the other.
    constexpr std::uint64_t kDelay = 20;
    constexpr std::uint64_t kOther = 1'000'000;
    Rig rig;
    std::array<std::uint64_t, 2> brought{};
    const auto lost = [&](std::size_t path) {
        const std::uint64_t passed = rig.record.passed(path);
        return passed > brought[path] ? passed - brought[path] : 0;
    };
    const auto turn = [&](std::uint64_t n, bool loses) {
        rig.now += kBehind / 50;
        rig.first(0, n);
        rig.first(1, kOther + n);
        brought[0]++;
        brought[1]++;
        if (n < kDelay)
            return;
        if (!loses) {
            EXPECT_FALSE(rig.again(1, n - kDelay));
            brought[1]++;
        }
        EXPECT_FALSE(rig.again(0, kOther + n - kDelay));
        brought[0]++;
    };
    for (std::uint64_t n = 0; n < 1000; n++) {
        turn(n, false);
        if (n % 10 == 0)
            rig.look();
        // Nobody can know of the delay before a path has brought its first copy.
        if (n >= kDelay) {
            ASSERT_EQ(lost(0), 0U) << n;
            ASSERT_EQ(lost(1), 0U) << n;
        }
    }
    for (std::uint64_t n = 1000; n < 2000; n++) {
        turn(n, n % 10 == 0);
        if (n % 10 == 0)
            rig.look();
    }
    EXPECT_EQ(lost(0), 0U);
    EXPECT_GE(lost(1), 90U) << "real losses are found";
    EXPECT_LE(lost(1), 100U);
}

TEST(PathRecord, PacketsOnTheirWayAreNotPassedWhereTheLeadingPathLosesSome) {
    constexpr std::uint64_t kDelay = 20;
    Rig rig;
    std::uint64_t brought = 0;
    const auto loses = [](std::uint64_t n) { return n >= 200 && n % 10 == 0; };
    for (std::uint64_t n = 0; n < 1000; n++) {
        rig.now += kBehind / 50;
        if (!loses(n))
            rig.first(0, n);
        if (n % 10 == 0)
            rig.look();
        if (n < kDelay)
            continue;
        brought++;
        if (loses(n - kDelay)) {
            rig.first(1, n - kDelay);
        } else {
            EXPECT_FALSE(rig.again(1, n - kDelay));
        }
        // Nobody can know of the delay before the next copy has come.
        if (!loses(n - kDelay) && n > 200 + kDelay) {
            ASSERT_LE(rig.record.passed(1), brought) << n;
        }
    }
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

TEST(PathRecord, AwaitsCopiesForAsLongAsAPathMayBeBehind) {
    Rig rig;
    rig.look();
    for (std::uint64_t n = 0; n < 10; n++)
        rig.first(0, n);
    EXPECT_EQ(rig.record.awaited(1, rig.unique), 10U) << "it has brought nothing yet";
    EXPECT_EQ(rig.record.awaited(0, rig.unique), 0U);
    for (const std::uint64_t n : {5, 7, 6})
        rig.again(1, n);
    EXPECT_EQ(rig.record.awaited(1, rig.unique), 2U) << "8 and 9: it began with 5";
    rig.now += 3 * kBehind;
    for (std::uint64_t n = 10; n < 20; n++)
        rig.first(0, n);
    for (std::uint64_t n = 10; n < 18; n++)
        if (n != 12)
            rig.again(1, n);
    EXPECT_GE(rig.record.awaited(1, rig.unique), 2U);
    EXPECT_LE(rig.record.awaited(1, rig.unique), 5U)
        << "8, 9 and 12 are lost, as far as copies come in order";
    for (int look = 0; look < 3; look++)
        rig.look(kBehind + 1);
    EXPECT_EQ(rig.record.awaited(1, rig.unique), 0U) << "they are lost";
    rig.first(1, 20);
    EXPECT_EQ(rig.record.awaited(0, rig.unique), 1U) << "either may lead";
}

TEST(PathRecord, AwaitsNothingFromTheOnlyPath) {
    Rig rig;
    rig.first(0, 1);
    rig.again(1, 1);
    rig.rest();
    ASSERT_FALSE(rig.record.is_awake());
    rig.first(0, 200'000);
    EXPECT_EQ(rig.record.awaited(0, rig.unique), 0U);
}

}  // namespace
}  // namespace spead::recv::path_record_test
