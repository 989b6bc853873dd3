// SPDX-License-Identifier: BSD-3-Clause
#include "observe/time_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace spead::observe {
namespace {

using Histogram = prometheus::ClientMetric::Histogram;

std::uint64_t count_at(const Histogram& histogram, double bound) {
    for (const auto& bucket : histogram.bucket)
        if (bucket.upper_bound == bound)
            return bucket.cumulative_count;
    ADD_FAILURE() << "no bucket ends at " << bound;
    return 0;
}

TEST(TimeHistogram, BoundsRise) {
    EXPECT_TRUE(std::is_sorted(kTimeBounds.begin(), kTimeBounds.end(), std::less_equal<>()));
}

TEST(TimeHistogram, OfNothingHasEveryBucket) {
    const Histogram none = time_histogram({});
    EXPECT_EQ(none.sample_count, 0u);
    EXPECT_EQ(none.sample_sum, 0);
    ASSERT_EQ(none.bucket.size(), kTimeBounds.size());
    EXPECT_EQ(none.bucket.back().cumulative_count, 0u);
}

TEST(TimeHistogram, CountsEachTimeInEveryBucketThatHoldsIt) {
    const Histogram h = time_histogram(
        {10, 0, 30.0, 300.0, {{1e-6, 1}, {1.1e-6, 2}, {0.05, 3}, {99.0, 1}, {101.0, 2}, {300.0, 1}}});
    EXPECT_EQ(h.sample_count, 10u);
    EXPECT_EQ(h.sample_sum, 300);
    EXPECT_EQ(count_at(h, 1e-6), 1u) << "the bound belongs to it";
    EXPECT_EQ(count_at(h, 2e-6), 3u);
    EXPECT_EQ(count_at(h, 0.02), 3u);
    EXPECT_EQ(count_at(h, 0.05), 6u);
    EXPECT_EQ(count_at(h, 50), 6u);
    EXPECT_EQ(count_at(h, 100), 7u) << "longer ones are in the count only";
}

/// Compares the histogram with times that are known one by one.
TEST(TimeHistogram, IsNeverTooShortNorAnEighthTooLongAndNeverFalls) {
    constexpr double kHz = 2.1e9;
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> power(-7, 3);
    stats::TickHistogram ticks;
    std::vector<double> all;
    Histogram before = time_histogram({});
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 20; i++) {
            const auto time = static_cast<std::uint64_t>(std::pow(10, power(random)) * kHz);
            ticks.add(time);
            all.push_back(static_cast<double>(time) / kHz);
        }
        const Histogram h = time_histogram(stats::in_seconds(ticks, kHz));
        ASSERT_EQ(h.sample_count, all.size());
        ASSERT_GE(h.sample_sum, before.sample_sum);
        for (std::size_t b = 0; b < kTimeBounds.size(); b++) {
            const double bound = kTimeBounds[b];
            const auto within = [&](double limit) {
                return static_cast<std::uint64_t>(
                    std::count_if(all.begin(), all.end(), [&](double t) { return t <= limit; }));
            };
            ASSERT_GE(h.bucket[b].cumulative_count, before.bucket[b].cumulative_count) << bound;
            ASSERT_LE(h.bucket[b].cumulative_count, within(bound)) << bound;
            ASSERT_GE(h.bucket[b].cumulative_count, within(bound / 1.126)) << bound;
        }
        before = h;
    }
}

}  // namespace
}  // namespace spead::observe
