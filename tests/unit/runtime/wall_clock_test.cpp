// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/wall_clock.hpp"

#include <gtest/gtest.h>

namespace spead::runtime {
namespace {

/// Converts at two ticks a nanosecond.
class WallClockTest : public testing::Test {
  protected:
    WallClock::Now now_{1'000'000, 500};
    int looks_ = 0;
    WallClock clock_{0.5, [this] {
                         looks_++;
                         return now_;
                     }};
};

TEST_F(WallClockTest, ConvertsTicksBeforeAndAfterTheLook) {
    EXPECT_EQ(clock_.ns_of(1'000'000), 500);
    EXPECT_EQ(clock_.ns_of(1'000'400), 700);
    EXPECT_EQ(clock_.ns_of(999'600), 300);
    EXPECT_EQ(clock_.ns_of(0), 0) << "unknown";
    EXPECT_EQ(looks_, 1);
}

TEST_F(WallClockTest, FollowsAClockThatIsSetMeanwhile) {
    constexpr std::uint64_t kSecond = 2'000'000'000;
    now_ = {1'000'000 + kSecond, 3'600'000'000'000};
    EXPECT_EQ(clock_.ns_of(1'000'000 + kSecond - 100), 500 + 999'999'950) << "within the second";
    EXPECT_EQ(clock_.ns_of(1'000'000 + kSecond + 100), 3'600'000'000'050);
    EXPECT_EQ(looks_, 2);
    EXPECT_EQ(clock_.ns_of(1'000'000 + kSecond - 100), 3'599'999'999'950) << "an earlier packet";
}

TEST(WallClock, HasNoTimeWithoutARate) {
    WallClock clock(0, [] { return WallClock::Now{1, 1}; });
    EXPECT_EQ(clock.ns_of(5), 0);
}

TEST_F(WallClockTest, AChunkWithoutArrivalHasNone) {
    chunk::Chunk chunk;
    EXPECT_EQ(clock_.arrival_of(chunk).last_ns, 0);
    chunk.first_arrival = 1'000'000;
    chunk.last_arrival = 1'000'002;
    EXPECT_EQ(clock_.arrival_of(chunk).first_ns, 500);
    EXPECT_EQ(clock_.arrival_of(chunk).last_ns, 501);
}

}  // namespace
}  // namespace spead::runtime
