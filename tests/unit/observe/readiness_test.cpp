// SPDX-License-Identifier: BSD-3-Clause
#include "observe/readiness.hpp"

#include <gtest/gtest.h>

#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using namespace std::chrono_literals;

stats::Snapshot all_well() {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.lcores[0].silent_s = 0;
    snapshot.lcores[0].activity = "it is stopped";
    snapshot.streams[0].port = "p0";
    snapshot.streams[0].sink_failure.clear();
    return snapshot;
}

std::string why_after(stats::Snapshot snapshot, stats::LatestSnapshot::Clock::duration age = 100ms) {
    stats::LatestSnapshot latest;
    const stats::LatestSnapshot::Clock::time_point time{1h};
    latest.publish(std::move(snapshot), time);
    return why_not_ready(latest.look(time + age));
}

TEST(Readiness, NothingIsReadyBeforeTheRun) {
    EXPECT_EQ(why_not_ready(stats::LatestSnapshot().look()), "the run has not begun\n");
}

TEST(Readiness, WhatDoesItsWorkIsReady) {
    EXPECT_EQ(why_after(all_well()), "");
    stats::Snapshot snapshot = all_well();
    // The packets that come are another question.
    snapshot.streams[0].health = "silent";
    snapshot.sends[0].health = "stuck";
    EXPECT_EQ(why_after(snapshot), "");
    snapshot.streams.clear();
    EXPECT_EQ(why_after(snapshot), "") << "it only sends";
}

TEST(Readiness, EachReasonHasALine) {
    stats::Snapshot snapshot = all_well();
    snapshot.ports[0].state = "detached";
    snapshot.streams[0].state = "waiting";
    snapshot.streams.push_back(snapshot.streams[0]);
    snapshot.streams[1].name = "s1";
    snapshot.streams[1].state = "stopped";
    snapshot.streams[1].sink_failure = "no space";
    snapshot.lcores[0].silent_s = 2.5;
    snapshot.engines = {{"fake", {"s0"}}, {"cuda", {"s0"}, 1.5, 1.5, 1, 1.5}};
    EXPECT_EQ(why_after(snapshot),
              "port p0 is detached\n"
              "lcore 1 on CPU 5 has not answered for 2.5 s: it is stopped\n"
              "the engine `cuda` has moved nothing for 1.5 s; s0 waits for it\n"
              "stream s0 waits for port p0\n"
              "stream s1 is stopped\n"
              "the sink of stream s1 has failed: no space\n");
}

TEST(Readiness, AFailedCaptureCountsWhereItsStreamHasNothingElse) {
    stats::Snapshot snapshot = all_well();
    stats::CaptureSnapshot& capture = snapshot.captures.emplace_back();
    capture.stream = "s0";
    capture.only = true;
    EXPECT_EQ(why_after(snapshot), "");
    capture.failure = "no space";
    EXPECT_EQ(why_after(snapshot), "the capture of stream s0 has failed: no space\n");
    capture.only = false;
    EXPECT_EQ(why_after(snapshot), "") << "the stream goes on";
    capture.only = capture.former = true;
    EXPECT_EQ(why_after(snapshot), "") << "there is no such stream any more";
}

TEST(Health, AProcessIsAliveWhileItsLcoresAnswerInTime) {
    const auto why = [](stats::Snapshot snapshot, stats::LatestSnapshot::Clock::duration age = 100ms,
                        std::optional<double> lcore_timeout = 2) {
        stats::LatestSnapshot latest;
        const stats::LatestSnapshot::Clock::time_point time{1h};
        latest.publish(std::move(snapshot), time);
        return why_not_alive(latest.look(time + age), longest_silence(lcore_timeout));
    };
    EXPECT_EQ(why_not_alive(stats::LatestSnapshot().look()), "") << "it is starting";
    stats::Snapshot snapshot = all_well();
    EXPECT_EQ(why(snapshot), "");
    EXPECT_EQ(why(snapshot, kOldestLife), "") << "it may be ending";
    EXPECT_EQ(why(snapshot, 121s), "the numbers are 121 s old: the control thread is held up\n");
    snapshot.streams[0].state = "stopped";
    snapshot.ports[0].state = "detached";
    snapshot.streams[0].sink_failure = "no space";
    EXPECT_EQ(why(snapshot), "") << "a restart helps none of these";
    snapshot.lcores[0].silent_s = 2;
    EXPECT_EQ(why(snapshot), "");
    snapshot.lcores[0].silent_s = 2.5;
    EXPECT_EQ(why(snapshot), "lcore 1 on CPU 5 has not answered for 2.5 s: it is stopped\n");
    EXPECT_EQ(why(snapshot, 100ms, std::nullopt), "") << "the default is 30 s";
    snapshot.lcores[0].silent_s = 31;
    EXPECT_EQ(why(snapshot, 100ms, std::nullopt),
              "lcore 1 on CPU 5 has not answered for 31.0 s: it is stopped\n");
    EXPECT_EQ(why(snapshot, 100ms, 0), "") << "off";
}

TEST(Readiness, OldNumbersTellNothing) {
    EXPECT_EQ(why_after(all_well(), kOldestReadiness), "");
    EXPECT_EQ(why_after(all_well(), 73s), "the numbers are 73 s old: the control thread is held up\n");
}

}  // namespace
}  // namespace spead::observe
