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
    /// Lets a side wait for the other one, which runs and does not move.
    void wait(Lockstep::Side side, std::uint64_t index, Clock::duration time, bool other_runs = true) {
        EXPECT_EQ(next(side, index), std::nullopt);
        for (const auto end = now + time; now < end;) {
            now = std::min(now + Lockstep::kRan, end);
            if (other_runs)
                lockstep.note_running(side == kOriginal ? kCopy : kOriginal);
            if (now < end) {
                EXPECT_EQ(next(side, index), std::nullopt);
            }
        }
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
    pair.wait(kOriginal, kLead, Lockstep::kPatience - Clock::duration(1));
    pair.wait(kOriginal, kLead, Clock::duration(1));
    for (std::uint64_t i = kLead; i < 100; i++)
        EXPECT_EQ(pair.next(kOriginal, i), i) << "no further wait";
    EXPECT_EQ(pair.next(kCopy, 1), 99U);
    EXPECT_EQ(pair.next(kOriginal, 99 + kLead), std::nullopt) << "it moves again";
}

/// Lets one get no CPU, as on a busy machine.
TEST(Lockstep, OneThatDoesNotRunIsWaitedForLonger) {
    Pair pair;
    pair.wait(kOriginal, kLead, Lockstep::kPatience / 2);
    pair.wait(kOriginal, kLead, 10 * Lockstep::kPatience, false);
    EXPECT_EQ(pair.next(kCopy, 1), 1U);
    EXPECT_EQ(pair.next(kOriginal, kLead), kLead) << "nothing is left out";
    pair.wait(kOriginal, kLead + 1, Lockstep::kUnseen, false);
    EXPECT_EQ(pair.next(kOriginal, kLead + 1), kLead + 1) << "it may never run again";
}

TEST(Lockstep, OneThatDidNotRunItselfKnowsNothingOfTheOther) {
    Pair pair;
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.lockstep.note_running(kCopy);
    pair.now += 2 * Lockstep::kPatience;
    EXPECT_EQ(pair.next(kOriginal, kLead), std::nullopt);
    pair.wait(kOriginal, kLead, Lockstep::kPatience - Lockstep::kRan);
    EXPECT_EQ(pair.next(kOriginal, kLead), kLead);
}

TEST(Lockstep, LongHeapsAreWaitedForLonger) {
    constexpr auto kHeapTime = std::chrono::seconds(1);
    Pair pair;
    pair.lockstep.expect(kCopy, kHeapTime);
    for (const bool runs : {true, false}) {
        pair.wait(kOriginal, kLead, 2 * kHeapTime, runs);
        EXPECT_EQ(pair.next(kOriginal, kLead), kLead);
        EXPECT_EQ(pair.next(kCopy, 0), 0U);
        pair.lockstep.begin(kOriginal, {});
    }
}

TEST(Lockstep, ASlowSenderIsWaitedForOnceItsPaceIsKnown) {
    Pair pair;
    constexpr auto kSlow = Lockstep::kPatience - Clock::duration(1);
    pair.wait(kOriginal, kLead, kSlow);
    EXPECT_EQ(pair.next(kCopy, 1), 1U);
    EXPECT_EQ(pair.next(kOriginal, kLead), kLead);
    pair.wait(kOriginal, kLead + 1, 2 * kSlow);
    EXPECT_EQ(pair.next(kOriginal, kLead + 1), kLead + 1) << "it takes that long";
}

TEST(Lockstep, ASideThatWasLeftBehindKnows) {
    Pair pair;
    pair.wait(kOriginal, kLead, Lockstep::kPatience);
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
    pair.wait(kCopy, 30, Lockstep::kPatience);
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
