// SPDX-License-Identifier: BSD-3-Clause
#include "stats/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

/// Returns the exact percentile that a histogram approximates: the value of rank ceil(percent of n) among
/// all, in order.
std::uint64_t exact_percentile(std::vector<std::uint64_t> values, double percent) {
    std::sort(values.begin(), values.end());
    const double rank = std::ceil(static_cast<double>(values.size()) * percent / 100 - 1e-6);
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

TEST(Histogram, EmptyIsAllZeros) {
    const FineHistogram h;
    EXPECT_EQ(h.count(), 0u);
    EXPECT_EQ(h.min(), 0u);
    EXPECT_EQ(h.max(), 0u);
    EXPECT_EQ(h.mean(), 0);
    EXPECT_EQ(h.percentile(50), 0u);
    EXPECT_TRUE(h.buckets().empty());
}

TEST(Histogram, SmallValuesHaveBucketsOfTheirOwn) {
    LogHistogram<3, 20> h;
    for (std::uint64_t v = 0; v < 16; v++)
        h.add(v, v + 1);
    const auto buckets = h.buckets();
    ASSERT_EQ(buckets.size(), 16u);
    for (std::uint64_t v = 0; v < 16; v++)
        EXPECT_EQ(buckets[v], (LogHistogram<3, 20>::Bucket{v, v, v + 1}));
}

TEST(Histogram, BucketsCoverEveryValueOnceAndAreNarrow) {
    using H = LogHistogram<2, 12>;
    std::uint64_t next = 0;
    std::size_t buckets = 0;
    while (next <= H::kLargest) {
        H h;
        h.add(next);
        const auto b = h.buckets();
        ASSERT_EQ(b.size(), 1u);
        ASSERT_EQ(b[0].lowest, next);
        ASSERT_LE(static_cast<double>(b[0].highest - b[0].lowest + 1),
                  std::max(1.0, static_cast<double>(b[0].lowest) * H::kRelativeError));
        H top;
        top.add(b[0].highest);
        ASSERT_EQ(top.buckets(), b);
        next = b[0].highest + 1;
        buckets++;
    }
    EXPECT_EQ(next, std::uint64_t{1} << 12);
    EXPECT_EQ(buckets, H::kBuckets);
}

TEST(Histogram, PercentilesAreNeverBelowTheTruthNorFarAbove) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> times(9, 2);
    FineHistogram h;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 100000; i++) {
        all.push_back(static_cast<std::uint64_t>(times(random)));
        h.add(all.back());
    }
    for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
        const std::uint64_t truth = exact_percentile(all, percent);
        EXPECT_GE(h.percentile(percent), truth) << percent;
        EXPECT_LE(static_cast<double>(h.percentile(percent)),
                  static_cast<double>(truth) * (1 + FineHistogram::kRelativeError))
            << percent;
    }
    EXPECT_EQ(h.percentile(100), *std::max_element(all.begin(), all.end()));
    EXPECT_EQ(h.min(), *std::min_element(all.begin(), all.end()));
}

TEST(Histogram, RanksAreNotRoundedUpByBinaryFractions) {
    FineHistogram h;
    h.add(1, 9999);
    h.add(200);
    EXPECT_EQ(h.percentile(99.99), 1u);
    EXPECT_EQ(h.percentile(99.991), 200u);
}

TEST(Histogram, ValuesBeyondTheLastBucketStayExactAtTheEdges) {
    LogHistogram<2, 8> h;
    h.add(255);
    h.add(std::uint64_t{1} << 50);
    h.add(7);
    EXPECT_EQ(h.count(), 3u);
    EXPECT_EQ(h.max(), std::uint64_t{1} << 50);
    EXPECT_EQ(h.sum(), (std::uint64_t{1} << 50) + 262);
    EXPECT_EQ(h.percentile(100), std::uint64_t{1} << 50);
    const auto buckets = h.buckets();
    ASSERT_EQ(buckets.size(), 2u);
    EXPECT_EQ(buckets[1].count, 2u);
    EXPECT_EQ(buckets[1].highest, 255u);
}

TEST(Histogram, SixtyFourBitsOfValues) {
    LogHistogram<4, 64> h;
    h.add(std::numeric_limits<std::uint64_t>::max());
    h.add(0);
    EXPECT_EQ(h.percentile(100), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(h.percentile(50), 0u);
    EXPECT_EQ(h.buckets().back().highest, std::numeric_limits<std::uint64_t>::max());
}

TEST(Histogram, MergingIsAddingBoth) {
    std::mt19937_64 random(2);
    FineHistogram a;
    FineHistogram b;
    FineHistogram both;
    for (int i = 0; i < 1000; i++) {
        const std::uint64_t value = random() >> (random() % 40 + 24);
        (i % 3 == 0 ? a : b).add(value);
        both.add(value);
    }
    a.merge(b);
    EXPECT_EQ(a, both);
    a.merge(FineHistogram());
    EXPECT_EQ(a, both);
    a.clear();
    EXPECT_EQ(a, FineHistogram());
}

TEST(Histogram, AddingNoneChangesNothing) {
    FineHistogram h;
    h.add(5, 0);
    EXPECT_EQ(h, FineHistogram());
}

}  // namespace
}  // namespace spead::stats
