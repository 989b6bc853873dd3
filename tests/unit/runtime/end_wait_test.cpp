// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/end_wait.hpp"

#include <functional>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using Clock = EndWait::Clock;
using Result = EndWait::Result;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Holds the result of a step that is waited for in rounds of 10 ms. The wait has ended, or `longest` has
/// passed.
struct Waited {
    std::optional<Result> result;
    milliseconds after{0};
    bool was_held_up = false;
};

Waited wait(EndWait::Limits limits, const std::function<EndProgress(milliseconds)>& at,
            milliseconds longest = seconds(100), milliseconds consumer = seconds(10)) {
    constexpr milliseconds kTurn{10};
    EndWait w(limits, consumer, Clock::time_point{});
    Waited waited;
    while (!waited.result && waited.after < longest) {
        waited.after += kTurn;
        waited.result = w.round(at(waited.after), Clock::time_point{} + waited.after);
        waited.was_held_up |= w.is_held_up();
    }
    return waited;
}

constexpr EndWait::Limits kSent{&EndProgress::sent, seconds(2)};

EndProgress sent(std::uint64_t packets) {
    EndProgress p;
    p.sent = packets;
    return p;
}

TEST(EndWait, NothingThatMovesIsGivenUpAfterItsPatience) {
    const Waited w = wait(kSent, [](milliseconds) { return EndProgress{}; });
    EXPECT_EQ(w.result, Result::stuck);
    EXPECT_EQ(w.after, milliseconds(2010));
}

TEST(EndWait, WhatMovesIsWaitedForAndThePatienceBeginsAnewWithEachMove) {
    // A packet every second, 20 of them.
    const Waited w = wait(kSent, [](milliseconds t) {
        return sent(static_cast<std::uint64_t>(std::min<milliseconds::rep>(t.count() / 1000, 20)));
    });
    EXPECT_EQ(w.result, Result::stuck);
    EXPECT_EQ(w.after, milliseconds(22'010));
}

TEST(EndWait, OnlyTheProgressThatWasAskedForCounts) {
    const Waited w = wait(kSent, [](milliseconds t) {
        EndProgress p;
        p.received = p.finished = static_cast<std::uint64_t>(t.count());
        return p;
    });
    EXPECT_EQ(w.result, Result::stuck);
    EXPECT_EQ(w.after, milliseconds(2010));
}

TEST(EndWait, ASenderThatWaitsForItsTimeIsNotStuck) {
    const Waited w = wait(kSent, [](milliseconds) {
        EndProgress p;
        p.pacing = true;
        return p;
    });
    EXPECT_EQ(w.result, std::nullopt);
}

TEST(EndWait, WhileAnLcoreIsSilentNothingIsKnownToBeStuck) {
    const Waited w = wait(kSent, [](milliseconds t) {
        EndProgress p;
        p.silent = t < seconds(7);
        return p;
    });
    EXPECT_EQ(w.result, Result::stuck);
    EXPECT_EQ(w.after, milliseconds(9000));
}

TEST(EndWait, WhatMovesOnForeverIsCut) {
    EndWait::Limits limits = kSent;
    limits.longest = seconds(5);
    const Waited w = wait(limits, [](milliseconds t) { return sent(static_cast<std::uint64_t>(t.count())); });
    EXPECT_EQ(w.result, Result::too_long);
    EXPECT_EQ(w.after, milliseconds(5010));
}

TEST(EndWait, AConsumerIsWaitedForWithItsOwnPatience) {
    const Waited w = wait(kSent, [](milliseconds t) {
        EndProgress p;
        p.blocked = true;
        p.finished = t < seconds(30) ? static_cast<std::uint64_t>(t.count() / 5000) : 6;  // a heap in 5 s
        return p;
    });
    EXPECT_EQ(w.result, Result::consumer);
    EXPECT_EQ(w.after, milliseconds(40'010));
    EXPECT_TRUE(w.was_held_up);
}

TEST(EndWait, AConsumersTimeIsNotCountedAsTheSenders) {
    EndWait::Limits limits = kSent;
    limits.longest = seconds(5);
    // Held up by its consumer for 8 s, then 5 s of its own.
    const Waited w = wait(limits, [](milliseconds t) {
        EndProgress p = sent(static_cast<std::uint64_t>(t.count()));
        p.blocked = t <= seconds(8);
        return p;
    });
    EXPECT_EQ(w.result, Result::too_long);
    EXPECT_EQ(w.after, milliseconds(13'010));
}

TEST(EndWait, TheUserIsToldOfAConsumerAfterAWhile) {
    const auto blocked_for = [](milliseconds duration) {
        return wait(
                   kSent,
                   [=](milliseconds t) {
                       EndProgress p;
                       p.blocked = t <= duration;
                       return p;
                   },
                   seconds(20))
            .was_held_up;
    };
    EXPECT_FALSE(blocked_for(seconds(3)));
    EXPECT_TRUE(blocked_for(seconds(4)));
}

TEST(EndWait, TimeInWhichTheProgramStoodStillHardlyCounts) {
    EndWait w(kSent, seconds(10), Clock::time_point{});
    EXPECT_EQ(w.round({}, Clock::time_point{} + std::chrono::hours(1)), std::nullopt);
    EXPECT_EQ(w.round({}, Clock::time_point{} + std::chrono::hours(2)), std::nullopt);
}

}  // namespace
}  // namespace spead::runtime
