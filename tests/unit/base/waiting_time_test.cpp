// SPDX-License-Identifier: BSD-3-Clause
#include "base/waiting_time.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

using namespace std::chrono_literals;

constexpr WaitingTime::Clock::time_point kBegin{1h};

TEST(WaitingTime, AddsUpRounds) {
    WaitingTime waited(100ms, kBegin);
    EXPECT_EQ(waited.add(kBegin + 20ms), 20ms);
    EXPECT_EQ(waited.add(kBegin + 120ms), 120ms);
    EXPECT_EQ(waited.total(), 120ms);
}

TEST(WaitingTime, HardlyCountsWhatTheThreadSleptThrough) {
    WaitingTime waited(100ms, kBegin);
    waited.add(kBegin + 20ms);
    EXPECT_EQ(waited.add(kBegin + 5s), 120ms) << "five seconds of SIGSTOP";
    EXPECT_EQ(waited.add(kBegin + 5s + 30ms), 150ms);
}

TEST(WaitingTime, IsNotPutOffByAClockThatStandsOrGoesBack) {
    WaitingTime waited(100ms, kBegin);
    EXPECT_EQ(waited.add(kBegin), 0ms);
    EXPECT_EQ(waited.add(kBegin - 1s), 0ms);
    EXPECT_EQ(waited.add(kBegin - 1s + 5ms), 5ms);
}

TEST(WaitingTime, BeginsAnew) {
    WaitingTime waited(100ms, kBegin);
    waited.add(kBegin + 50ms);
    waited.restart(kBegin + 80ms);
    EXPECT_EQ(waited.total(), 0ms);
    EXPECT_EQ(waited.add(kBegin + 90ms), 10ms);
}

}  // namespace
}  // namespace spead
