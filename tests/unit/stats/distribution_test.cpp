// SPDX-License-Identifier: BSD-3-Clause
#include "stats/distribution.hpp"

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

TEST(Distribution, IsTheHistogramInSeconds) {
    TickHistogram ticks;
    ticks.add(1000, 9);
    ticks.add(8'000'000);
    const Distribution d = in_seconds(ticks, 1e6);
    EXPECT_EQ(d.count, 10U);
    EXPECT_DOUBLE_EQ(d.min_s, 0.001);
    EXPECT_DOUBLE_EQ(d.max_s, 8);
    EXPECT_DOUBLE_EQ(d.mean_s, (9 * 0.001 + 8) / 10);
    ASSERT_EQ(d.buckets.size(), 2U);
    EXPECT_EQ(d.buckets[0].count, 9U);
    EXPECT_GE(d.buckets[0].up_to_s, 0.001);
    EXPECT_LE(d.buckets[0].up_to_s, 0.001 * 1.125);
    EXPECT_EQ(d.buckets[1].count, 1U);
}

TEST(Distribution, PercentilesAreNeverBelowTheTruthNorAboveTheLongest) {
    TickHistogram ticks;
    for (std::uint64_t i = 1; i <= 1000; i++)
        ticks.add(i * 1000);
    const Distribution d = in_seconds(ticks, 1e6);
    for (const double p : {1.0, 50.0, 90.0, 99.0}) {
        EXPECT_GE(d.percentile(p), p / 100) << p;
        EXPECT_LE(d.percentile(p), p / 100 * 1.125 + 1e-9) << p;
    }
    EXPECT_DOUBLE_EQ(d.percentile(100), 1);
    EXPECT_DOUBLE_EQ(d.percentile(1000), 1);
}

TEST(Distribution, OfNothingIsNothing) {
    const Distribution d = in_seconds({}, 1e9);
    EXPECT_EQ(d.count, 0U);
    EXPECT_DOUBLE_EQ(d.percentile(50), 0);
    EXPECT_DOUBLE_EQ(d.min_s, 0);
    EXPECT_TRUE(d.buckets.empty());
}

}  // namespace
}  // namespace spead::stats
