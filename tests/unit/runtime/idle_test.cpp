// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/idle.hpp"

#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace spead::runtime {

inline bool operator==(const IdlePolicy::Step& a, const IdlePolicy::Step& b) {
    return a.action == b.action && a.microseconds == b.microseconds;
}
inline void PrintTo(const IdlePolicy::Step& s, std::ostream* out) {
    *out << (s.action == IdlePolicy::Action::poll    ? "poll"
             : s.action == IdlePolicy::Action::pause ? "pause"
             : s.action == IdlePolicy::Action::wait  ? "wait"
                                                     : "sleep ")
         << s.microseconds;
}

namespace {

using Action = IdlePolicy::Action;
using Step = IdlePolicy::Step;

constexpr Step kPoll{Action::poll, 0};
constexpr Step kPause{Action::pause, 0};
constexpr Step kWait{Action::wait, 0};
constexpr Step sleep_of(std::uint32_t microseconds) {
    return {Action::sleep, microseconds};
}

/// Returns a policy for which ten ticks are a microsecond.
IdlePolicy policy(PollMode mode, std::uint32_t max_poll = 3, std::uint32_t longest = 200) {
    return {mode, max_poll, longest, 10.0};
}
constexpr std::uint64_t kPatience = IdlePolicy::kPatienceMicroseconds * 10;

TEST(IdlePolicy, NeverLeavesTheCpuWhenBusy) {
    IdlePolicy p = policy(PollMode::busy);
    for (std::uint64_t now = 0; now < 1'000'000'000; now += 1'000'000)
        EXPECT_EQ(p.idle(now), kPoll);
}

TEST(IdlePolicy, PollsSoOftenThenPausesThenSleepsLongerAndLonger) {
    IdlePolicy p = policy(PollMode::adaptive);
    std::vector<Step> steps;
    for (int i = 0; i < 5; i++)
        steps.push_back(p.idle(5000));
    for (int i = 0; i < 6; i++)
        steps.push_back(p.idle(5000 + kPatience));
    EXPECT_EQ(steps, (std::vector<Step>{kPoll, kPoll, kPoll, kPause, kPause, sleep_of(20), sleep_of(40),
                                        sleep_of(80), sleep_of(160), sleep_of(200), sleep_of(200)}));
}

TEST(IdlePolicy, DoesNotSleepBeforeItsPatienceIsOver) {
    IdlePolicy p = policy(PollMode::adaptive, 1);
    p.idle(777);
    EXPECT_EQ(p.idle(777 + kPatience - 1), kPause);
    EXPECT_EQ(p.idle(777 + kPatience), sleep_of(20));
}

TEST(IdlePolicy, BeginsAnewAfterWork) {
    IdlePolicy p = policy(PollMode::adaptive, 1);
    p.idle(0);
    for (int i = 0; i < 4; i++)
        p.idle(kPatience);
    p.worked();
    EXPECT_EQ(p.idle(2 * kPatience), kPoll);
    EXPECT_EQ(p.idle(3 * kPatience - 1), kPause);
    EXPECT_EQ(p.idle(3 * kPatience), sleep_of(20));
}

TEST(IdlePolicy, OnlyPausesWhereTheRingAbsorbsNoSleep) {
    IdlePolicy p = policy(PollMode::adaptive, 1, IdlePolicy::kShortestSleep - 1);
    p.idle(0);
    for (std::uint64_t now = 0; now < 100 * kPatience; now += kPatience)
        EXPECT_EQ(p.idle(now), kPause);
}

TEST(IdlePolicy, NeverSleepsLongerThanItMay) {
    for (std::uint32_t longest = IdlePolicy::kShortestSleep; longest < 300; longest++) {
        IdlePolicy p = policy(PollMode::adaptive, 1, longest);
        p.idle(0);
        std::uint32_t before = 0;
        for (int i = 0; i < 20; i++) {
            const Step step = p.idle(kPatience);
            ASSERT_EQ(step.action, Action::sleep);
            ASSERT_LE(step.microseconds, longest);
            ASSERT_GE(step.microseconds, before);
            before = step.microseconds;
        }
        EXPECT_EQ(before, longest);
    }
}

TEST(IdlePolicy, WaitsForAPacketAfterSoManyEmptyPolls) {
    IdlePolicy p = policy(PollMode::interrupt, 2);
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(p.idle(0), kPoll);
        EXPECT_EQ(p.idle(0), kPoll);
        EXPECT_EQ(p.idle(0), kWait) << "at once: the device says when it is over";
        EXPECT_EQ(p.idle(kPatience), kWait);
        p.worked();
    }
}

TEST(IdlePolicy, IsAdaptiveWhereThereIsNothingToWaitFor) {
    IdlePolicy p = policy(PollMode::interrupt, 1);
    p.set_mode(PollMode::adaptive);
    p.idle(0);
    EXPECT_EQ(p.idle(kPatience), sleep_of(20));
}

TEST(IdlePolicy, MaySleepUnlessItIsBusyOrItsRingsAreSmall) {
    EXPECT_TRUE(IdlePolicy(PollMode::adaptive, 1, IdlePolicy::kShortestSleep, 1).may_sleep());
    EXPECT_FALSE(IdlePolicy(PollMode::adaptive, 1, IdlePolicy::kShortestSleep - 1, 1).may_sleep());
    EXPECT_FALSE(IdlePolicy(PollMode::busy, 1, 1000, 1).may_sleep());
}

TEST(LongestSleep, IsAQuarterOfTheTimeInWhichTheRingFills) {
    // 1024 packets of 1024 bytes are 8388608 bits: 838.9 us at 10 Gb/s.
    EXPECT_EQ(longest_sleep_us(1024, 1024, 10'000'000'000), 209U);
    EXPECT_EQ(longest_sleep_us(512, 64, 100'000'000'000), 0U);
    EXPECT_EQ(longest_sleep_us(0, 1024, 10'000'000'000), 0U);
}

TEST(LongestSleep, IsAMillisecondAtMost) {
    EXPECT_EQ(longest_sleep_us(65535, 65535, 1'000'000), 1000U);
    EXPECT_EQ(longest_sleep_us(1024, 1024, 0), 1000U) << "nothing comes from a link without speed";
}

}  // namespace
}  // namespace spead::runtime
