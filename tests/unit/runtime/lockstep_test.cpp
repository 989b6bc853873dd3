// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lockstep.hpp"

#include <random>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using Clock = Lockstep::Clock;
using Stops = Lockstep::Stops;
constexpr auto kOriginal = Lockstep::original;
constexpr auto kCopy = Lockstep::copy;
constexpr std::uint64_t kLead = 4;

/// Holds two sides that have begun.
struct Pair {
    Pair() {
        lockstep.pair();
        lockstep.begin(kOriginal, {});
        lockstep.begin(kCopy, {});
    }
    std::optional<std::uint64_t> next(Lockstep::Side side, std::uint64_t index) {
        EXPECT_FALSE(lockstep.is_alone(side, index));
        return lockstep.next(side, index, now);
    }

    Lockstep lockstep{kLead};
    Clock::time_point now{};
};

TEST(Lockstep, WithoutACopyASenderIsAlone) {
    Lockstep lockstep(kLead);
    EXPECT_EQ(lockstep.begin(kOriginal, {3, 2}), (Lockstep::Used{3, 2}));
    EXPECT_TRUE(lockstep.is_alone(kOriginal, 1000));
    lockstep.request_stop(kOriginal, {});
    EXPECT_TRUE(lockstep.may_end(kOriginal, 1000, {}));
    EXPECT_EQ(lockstep.stops(kOriginal, {}, {}), Stops::yes);
}

TEST(Lockstep, NeitherIsMoreThanTheLeadAhead) {
    Pair pair;
    for (std::uint64_t i = 0; i < kLead; i++)
        EXPECT_EQ(pair.next(kOriginal, i), i);
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    EXPECT_EQ(pair.next(kCopy, 0), 0U);
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt) << "heap 0 is being submitted";
    EXPECT_EQ(pair.next(kCopy, 1), 1U);
    EXPECT_EQ(pair.next(kOriginal, kLead), kLead);
}

TEST(Lockstep, OneThatDoesNotMoveIsLeftBehindAndGoesOnWhereTheOtherIs) {
    Pair pair;
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.now += Lockstep::kPatience - Clock::duration(1);
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.now += Clock::duration(1);
    for (std::uint64_t i = kLead; i < 100; i++)
        EXPECT_EQ(pair.next(kOriginal, i), i) << "no further wait";
    EXPECT_EQ(pair.next(kCopy, 1), 99U);
    EXPECT_EQ(pair.next(kOriginal, 99 + kLead), std::nullopt) << "it moves again";
}

TEST(Lockstep, LongHeapsAreWaitedForLonger) {
    constexpr auto kHeapTime = std::chrono::seconds(1);
    Lockstep lockstep(kLead);
    lockstep.expect(kCopy, kHeapTime);
    lockstep.pair();
    lockstep.begin(kOriginal, {});
    lockstep.begin(kCopy, {});
    Clock::time_point now{};
    EXPECT_EQ(lockstep.next(kOriginal, kLead, now), std::nullopt);
    EXPECT_EQ(lockstep.next(kOriginal, kLead, now + 2 * kHeapTime - Clock::duration(1)), std::nullopt);
    EXPECT_EQ(lockstep.next(kOriginal, kLead, now + 2 * kHeapTime), kLead);
}

TEST(Lockstep, ASlowSenderIsWaitedForOnceItsPaceIsKnown) {
    Pair pair;
    constexpr auto kSlow = Lockstep::kPatience - Clock::duration(1);
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.now += kSlow;
    EXPECT_EQ(pair.next(kCopy, 1), 1U);
    EXPECT_EQ(pair.next(kOriginal, kLead), kLead);
    EXPECT_EQ(pair.next(kOriginal, kLead + 1), std::nullopt);
    pair.now += 2 * kSlow - Clock::duration(1);
    EXPECT_EQ(pair.next(kOriginal, kLead + 1), std::nullopt) << "it takes that long";
    pair.now += Clock::duration(1);
    EXPECT_EQ(pair.next(kOriginal, kLead + 1), kLead + 1);
}

TEST(Lockstep, ASideThatWasLeftBehindKnows) {
    Pair pair;
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.now += Lockstep::kPatience;
    for (std::uint64_t i = kLead; i < kLead + 2; i++) {
        EXPECT_EQ(pair.next(kOriginal, i), i);
        EXPECT_EQ(pair.lockstep.is_left_behind(kCopy, 0), i > kLead);
    }
    EXPECT_FALSE(pair.lockstep.is_left_behind(kOriginal, kLead + 1));
}

TEST(Lockstep, OneThatHasEndedIsNotWaitedFor) {
    Pair pair;
    EXPECT_EQ(pair.next(kCopy, 2), 2U);
    pair.lockstep.end(kCopy, {3, 2});
    EXPECT_EQ(pair.next(kOriginal, 2 + kLead), 2 + kLead);
}

TEST(Lockstep, AskedToEndTheyEndWithTheSameHeap) {
    Pair pair;
    EXPECT_EQ(pair.next(kOriginal, 7), std::nullopt);
    EXPECT_EQ(pair.next(kCopy, 5), 5U);
    pair.lockstep.request_stop(kOriginal, pair.now);
    pair.lockstep.request_stop(kCopy, pair.now);
    EXPECT_TRUE(pair.lockstep.may_end(kOriginal, 7, pair.now));
    EXPECT_FALSE(pair.lockstep.may_end(kCopy, 5, pair.now));
    EXPECT_FALSE(pair.lockstep.may_end(kCopy, 6, pair.now));
    EXPECT_TRUE(pair.lockstep.may_end(kCopy, 7, pair.now));
    EXPECT_EQ(pair.lockstep.stops(kOriginal, pair.now, pair.now), Stops::yes);
    EXPECT_EQ(pair.lockstep.stops(kCopy, pair.now, pair.now), Stops::yes);
}

TEST(Lockstep, OneThatIsToEndAloneNeedNotReachTheOther) {
    Pair pair;
    EXPECT_EQ(pair.next(kOriginal, 5 + kLead), std::nullopt);
    EXPECT_EQ(pair.next(kCopy, 5), 5U);
    pair.lockstep.request_stop(kCopy, pair.now);
    EXPECT_FALSE(pair.lockstep.may_end(kCopy, 6, pair.now)) << "the other one may be asked, too";
    pair.now += Lockstep::kPatience;
    EXPECT_TRUE(pair.lockstep.may_end(kCopy, 6, pair.now));
    pair.lockstep.request_stop(kOriginal, pair.now);
    EXPECT_FALSE(pair.lockstep.may_end(kCopy, 6, pair.now));
}

TEST(Lockstep, OneThatEndsAloneSendsNoStopItems) {
    Pair pair;
    pair.lockstep.request_stop(kOriginal, pair.now);
    const auto since = pair.now;
    EXPECT_EQ(pair.lockstep.stops(kOriginal, since, pair.now), Stops::ask_again);
    pair.now += Lockstep::kPatience;
    EXPECT_EQ(pair.lockstep.stops(kOriginal, since, pair.now), Stops::no);
    pair.lockstep.request_stop(kCopy, pair.now);
    EXPECT_EQ(pair.lockstep.stops(kOriginal, since, pair.now), Stops::yes) << "the run ends, then";
    EXPECT_EQ(pair.lockstep.stops(kCopy, since, pair.now), Stops::yes);
}

TEST(Lockstep, AtTheLastHeapOfItsOwnItSendsThem) {
    Pair pair;
    EXPECT_EQ(pair.lockstep.stops(kOriginal, pair.now, pair.now), Stops::yes);
}

TEST(Lockstep, OneThatIsAboutToStartJoinsARoundThatHasEnded) {
    Lockstep lockstep(kLead);
    lockstep.pair();
    for (const auto side : {kOriginal, kCopy})
        lockstep.announce(side, true);
    EXPECT_EQ(lockstep.begin(kOriginal, {}), Lockstep::Used{});
    lockstep.end(kOriginal, {4, 3});
    EXPECT_EQ(lockstep.begin(kCopy, {}), Lockstep::Used{}) << "the same heap counts";
    lockstep.end(kCopy, {4, 3});
    EXPECT_EQ(lockstep.begin(kOriginal, {4, 3}), (Lockstep::Used{4, 3})) << "another round";
    lockstep.end(kOriginal, {9, 8});
    EXPECT_EQ(lockstep.begin(kCopy, {4, 3}), (Lockstep::Used{9, 8})) << "nobody said that it would start";
}

TEST(Lockstep, OneThatStartsLaterJoinsTheRound) {
    Pair pair;
    pair.lockstep.end(kOriginal, {101, 100});
    pair.lockstep.end(kCopy, {51, 50});
    EXPECT_EQ(pair.lockstep.begin(kCopy, {51, 50}), (Lockstep::Used{101, 100})) << "no count is used twice";
    EXPECT_EQ(pair.next(kCopy, 0), 0U);
    EXPECT_EQ(pair.next(kCopy, 3), 3U);
    EXPECT_EQ(pair.lockstep.begin(kOriginal, {101, 100}), (Lockstep::Used{101, 100}));
    EXPECT_EQ(pair.next(kOriginal, 0), 0U) << "not left behind";
    EXPECT_EQ(pair.next(kCopy, 30), std::nullopt);
    pair.now += Lockstep::kPatience;
    EXPECT_EQ(pair.next(kCopy, 30), 30U);
    EXPECT_EQ(pair.next(kOriginal, 1), 30U);
}

TEST(Lockstep, ACopyThatIsReplacedDoesNotEndTheNewOne) {
    Pair pair;
    const int former = 0, fresh = 0;
    pair.lockstep.begin(kCopy, {}, &former);
    EXPECT_FALSE(pair.lockstep.is_alone(kCopy, 20, &former));
    EXPECT_EQ(pair.next(kOriginal, 20), 20U);
    pair.lockstep.begin(kCopy, {}, &fresh);
    EXPECT_FALSE(pair.lockstep.is_alone(kCopy, 20, &fresh));
    pair.lockstep.request_stop(kCopy, pair.now, &former);
    EXPECT_TRUE(pair.lockstep.is_alone(kCopy, 19, &former));
    EXPECT_TRUE(pair.lockstep.may_end(kCopy, 19, pair.now, &former));
    EXPECT_EQ(pair.lockstep.stops(kCopy, pair.now, pair.now, &former), Stops::no);
    pair.lockstep.end(kCopy, {20, 20}, &former);
    EXPECT_EQ(pair.next(kOriginal, 20 + kLead), std::nullopt) << "the new one is waited for";
    EXPECT_EQ(pair.lockstep.stops(kCopy, pair.now, pair.now, &fresh), Stops::yes) << "it is not asked to end";
}

TEST(Lockstep, TwoOfRandomPaceStayTogether) {
    std::mt19937 random(5);
    Pair pair;
    std::array<std::uint64_t, 2> at{};
    for (int i = 0; i < 100000; i++) {
        const auto side = random() % 3 == 0 ? kOriginal : kCopy;
        if (const auto next = pair.next(side, at[side])) {
            EXPECT_EQ(*next, at[side]) << "no heap is left out";
            at[side]++;
        }
        pair.now += Clock::duration(random() % 100);
    }
    EXPECT_GT(at[0], 10000U);
    const auto [less, more] = std::minmax(at[0], at[1]);
    EXPECT_LE(more - less, kLead + 1);
}

}  // namespace
}  // namespace spead::runtime
