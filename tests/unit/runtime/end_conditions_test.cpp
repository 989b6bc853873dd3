// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/end_conditions.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using Clock = EndConditions::Clock;
using std::chrono::milliseconds;

/// Checks a run that looks the same for a while, in rounds of 20 ms.
struct SteadyRun {
    EndPlan plan;
    EndFacts now;
    Clock::time_point time{};
    EndConditions conditions{time};

    std::optional<EndReason> after(milliseconds duration) {
        for (const Clock::time_point end = time + duration; time < end; time += milliseconds(20))
            if (const auto reason = conditions.check(plan, now, time))
                return reason;
        return conditions.check(plan, now, time);
    }
};

TEST(EndConditions, ARunGoesOnWhileNothingEndsIt) {
    SteadyRun run;
    run.now.receives = true;
    EXPECT_EQ(run.after(milliseconds(5000)), std::nullopt);
}

TEST(EndConditions, EachConditionHasItsReasonAndTheEarlierOneWins) {
    using Set = std::pair<void (*)(SteadyRun&), EndReason>;
    const std::vector<Set> in_order{
        {[](SteadyRun& r) { r.now.sent = r.now.all_received = true; }, EndReason::sent},
        {[](SteadyRun& r) { r.now.sources_ended = true; }, EndReason::end_of_data},
        {[](SteadyRun& r) { r.plan.exit_on_stop = r.now.stop_items = true; }, EndReason::stop_items},
        {[](SteadyRun& r) {
             r.plan.duration = 2;
             r.now.seconds = 2;
         },
         EndReason::duration},
        {[](SteadyRun& r) { r.now.captured = true; }, EndReason::captured},
        {[](SteadyRun& r) { r.now.heaps_used_up = true; }, EndReason::heaps},
        {[](SteadyRun& r) { r.now.failed = true; }, EndReason::failure},
    };
    SteadyRun run;
    run.now.receives = true;
    for (const auto& [happen, reason] : in_order) {
        happen(run);
        EXPECT_EQ(run.after(milliseconds(0)), reason) << name_of(reason);
    }
}

TEST(EndConditions, ARunThatStaysEndsNeitherWithItsSourcesNorWithItsSenders) {
    SteadyRun run;
    run.conditions.stay();
    run.now.receives = run.now.sources_ended = run.now.sent = run.now.all_received = true;
    EXPECT_EQ(run.after(milliseconds(100)), std::nullopt);
    run.now.failed = true;
    EXPECT_EQ(run.after(milliseconds(0)), EndReason::failure);
}

TEST(EndConditions, IdleCountsFromTheFirstPacket) {
    SteadyRun run;
    run.plan.idle_exit = 0.5;
    EXPECT_EQ(run.after(milliseconds(5000)), std::nullopt) << "nothing has come yet";
    run.now.progress = 1;
    EXPECT_EQ(run.after(milliseconds(400)), std::nullopt);
    run.now.progress = 2;
    EXPECT_EQ(run.after(milliseconds(400)), std::nullopt) << "another one came";
    EXPECT_EQ(run.after(milliseconds(200)), EndReason::idle);
}

TEST(EndConditions, ASilentLcoreIsNotIdle) {
    SteadyRun run;
    run.plan.idle_exit = 0.5;
    run.now.progress = 1;
    run.now.silent = true;
    EXPECT_EQ(run.after(milliseconds(2000)), std::nullopt);
    run.now.silent = false;
    EXPECT_EQ(run.after(milliseconds(600)), EndReason::idle);
}

TEST(EndConditions, TimeInWhichTheProgramStoodStillIsNotIdle) {
    SteadyRun run;
    run.plan.idle_exit = 2;
    run.now.progress = 1;
    EXPECT_EQ(run.after(milliseconds(20)), std::nullopt);
    run.time += std::chrono::hours(1);  // SIGSTOP, SIGCONT
    EXPECT_EQ(run.after(milliseconds(1000)), std::nullopt);
}

TEST(EndConditions, AStopItemEndsOnlyARunThatAsksForIt) {
    SteadyRun run;
    run.now.receives = run.now.stop_items = true;
    EXPECT_EQ(run.after(milliseconds(100)), std::nullopt);
    run.plan.exit_on_stop = true;
    run.now.receives = false;
    EXPECT_EQ(run.after(milliseconds(100)), std::nullopt) << "there is no stream";
}

TEST(EndConditions, OwnPacketsThatWereLostAreWaitedForASecond) {
    SteadyRun run;
    run.now.receives = run.now.sent = run.now.own_only = true;
    run.now.progress = 5;
    EXPECT_EQ(run.after(milliseconds(900)), std::nullopt);
    run.now.queued = true;
    EXPECT_EQ(run.after(milliseconds(900)), std::nullopt) << "heaps wait for a consumer";
    run.now.queued = false;
    EXPECT_EQ(run.after(milliseconds(0)), EndReason::sent);

    SteadyRun of_others;
    of_others.now.receives = of_others.now.sent = true;
    EXPECT_EQ(of_others.after(milliseconds(5000)), std::nullopt) << "others may send";
}

TEST(EndConditions, ASenderAloneEndsWithItsHeaps) {
    SteadyRun run;
    run.now.sent = true;
    EXPECT_EQ(run.after(milliseconds(0)), EndReason::sent);
}

}  // namespace
}  // namespace spead::runtime
