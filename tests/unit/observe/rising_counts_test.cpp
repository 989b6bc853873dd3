// SPDX-License-Identifier: BSD-3-Clause
#include "observe/rising_counts.hpp"

#include <gtest/gtest.h>

namespace spead::observe {
namespace {

stats::Snapshot with(std::uint64_t placed, std::uint64_t bytes, std::uint64_t started,
                     std::uint32_t number = 1) {
    stats::Snapshot snapshot;
    stats::StreamSnapshot& s = snapshot.streams.emplace_back();
    s.name = "s0";
    s.number = number;
    s.packets[static_cast<std::size_t>(PacketOutcome::placed)] = placed;
    s.bytes = bytes;
    s.heaps_started = started;
    return snapshot;
}

class RisingCountsTest : public testing::Test {
  protected:
    void expect(const stats::Snapshot& now, std::uint64_t placed, std::uint64_t bytes,
                std::uint64_t started) {
        rising.update(now);
        const RisingCounts::Counts counts = rising.of(now.streams.at(0));
        EXPECT_EQ(counts.placed, placed);
        EXPECT_EQ(counts.bytes, bytes);
        EXPECT_EQ(counts.heaps_started, started);
    }
    RisingCounts rising;
};

TEST_F(RisingCountsTest, ACountThatFallsWaitsUntilItHasCaughtUp) {
    expect(with(10, 1000, 3), 10, 1000, 3);
    expect(with(8, 900, 2), 10, 1000, 3);
    expect(with(9, 950, 3), 10, 1000, 3);
    expect(with(11, 1100, 4), 11, 1100, 4);
    expect(with(10, 1200, 3), 11, 1200, 4);
}

TEST_F(RisingCountsTest, ClearedCountersBeginAnew) {
    expect(with(10, 1000, 3), 10, 1000, 3);
    stats::Snapshot cleared = with(1, 100, 1);
    cleared.cleared_s = 2.5;
    expect(cleared, 1, 100, 1);
    cleared.streams[0].heaps_started = 0;
    expect(cleared, 1, 100, 1);
}

TEST_F(RisingCountsTest, AnotherStreamOfTheNameBeginsAnew) {
    expect(with(10, 1000, 3), 10, 1000, 3);
    expect(with(1, 100, 1, 2), 1, 100, 1);
}

TEST_F(RisingCountsTest, StreamsDoNotShareTheirCounts) {
    stats::Snapshot two = with(10, 1000, 3);
    two.streams.push_back(with(4, 40, 1, 2).streams[0]);
    two.streams[1].name = "s1";
    rising.update(two);
    two.streams[0].heaps_started = 2;
    rising.update(two);
    EXPECT_EQ(rising.of(two.streams[0]).heaps_started, 3U);
    EXPECT_EQ(rising.of(two.streams[1]).heaps_started, 1U);
}

}  // namespace
}  // namespace spead::observe
