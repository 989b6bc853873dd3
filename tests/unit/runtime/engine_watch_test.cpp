// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_watch.hpp"

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

using namespace std::chrono_literals;
using News = EngineWatch::News;

constexpr ChannelWatch::Clock::time_point kBegin{1h};

/// Looks every 20 ms, from 0 to `to`, at a channel with one batch that is never done. Returns the last
/// answer.
ChannelWatch::Clock::duration look_until(ChannelWatch& watch, ChannelWatch::Clock::duration to) {
    ChannelWatch::Clock::duration quiet{0};
    for (auto at = 0ms; at <= to; at += 20ms)
        quiet = watch.look(7, 1, kBegin + at);
    return quiet;
}

TEST(ChannelWatch, CountsFromTheFirstLookAtABatchThatIsNotDone) {
    ChannelWatch watch;
    EXPECT_EQ(watch.look(7, 0, kBegin - 1h), 0s);
    EXPECT_EQ(look_until(watch, 2s), 2s);
    EXPECT_EQ(watch.look(8, 1, kBegin + 2020ms), 0s) << "a batch was done";
    EXPECT_EQ(watch.look(8, 1, kBegin + 2040ms), 20ms);
    EXPECT_EQ(watch.look(8, 0, kBegin + 2060ms), 0s) << "nothing is with the engine";
    EXPECT_EQ(watch.look(8, 0, kBegin + 9s), 0s);
    EXPECT_EQ(watch.look(8, 3, kBegin + 9020ms), 0s) << "it has just been given some";
}

TEST(ChannelWatch, DoesNotCountTimeInWhichItsThreadDidNotRun) {
    ChannelWatch watch;
    EXPECT_EQ(look_until(watch, 100ms), 100ms);
    // The whole process was stopped for five seconds.
    EXPECT_EQ(watch.look(7, 1, kBegin + 5100ms), 200ms);
}

TEST(EngineWatch, TellsOnceThatItStandsStillAndOnceThatItIsBack) {
    EngineWatch watch("cuda");
    EXPECT_EQ(watch.update(240ms), News::none);
    EXPECT_FALSE(watch.may_stand_still());
    EXPECT_EQ(watch.update(980ms), News::none);
    EXPECT_TRUE(watch.may_stand_still());
    EXPECT_EQ(watch.snapshot().quiet_s, 0.98);
    EXPECT_EQ(watch.snapshot().stall(), "");
    EXPECT_EQ(watch.update(1s), News::stalled);
    EXPECT_EQ(watch.update(4s), News::none);
    stats::EngineSnapshot now = watch.snapshot();
    now.streams = {"s0"};
    EXPECT_EQ(now.stall(), "the engine `cuda` has moved nothing for 4.0 s; s0 waits for it");
    now.streams = {"s0", "s1"};
    EXPECT_EQ(now.stall(), "the engine `cuda` has moved nothing for 4.0 s; s0, s1 wait for it");
    EXPECT_EQ(watch.update(20ms), News::back);
    EXPECT_EQ(watch.end_sentence(), "the engine `cuda` moves payload again, after 4.0 s");
    EXPECT_EQ(watch.update(0s), News::none);
    EXPECT_EQ(watch.update(1500ms), News::stalled);
    EXPECT_EQ(watch.snapshot().stalls, 2U);
    EXPECT_EQ(watch.snapshot().stalled_s, 1.5);
    EXPECT_EQ(watch.snapshot().all_stalled_s, 5.5);
}

TEST(EngineWatch, NothingWaitsForOneThatHasFailed) {
    EngineWatch watch("cuda");
    EXPECT_EQ(watch.update(5s), News::stalled);
    EXPECT_TRUE(watch.may_stand_still());
    EXPECT_EQ(watch.update(6s, true), News::none) << "it never comes back";
    EXPECT_FALSE(watch.may_stand_still());
    EXPECT_EQ(watch.snapshot().stalled_s, 6);
}

}  // namespace
}  // namespace spead::runtime
