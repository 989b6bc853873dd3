// SPDX-License-Identifier: BSD-3-Clause
#include "stats/peak.hpp"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

TEST(Peak, TellsTheMostEverTheMostOfAMinuteAndTheLast) {
    PeakRecord r;
    EXPECT_EQ(r.peak(), Peak{});
    EXPECT_TRUE(r.empty());
    r.add(0.1, 0);
    EXPECT_FALSE(r.empty());
    r.add(0.2, 7);
    r.add(0.4, 100);
    r.add(0.6, 3);
    EXPECT_EQ(r.peak(), (Peak{100, 100, 3}));
    r.add(49, 5);
    EXPECT_EQ(r.peak(), (Peak{100, 100, 5}));
    r.add(60.1, 6);
    EXPECT_EQ(r.peak(), (Peak{100, 6, 6})) << "the most of the first ten seconds is forgotten";
    r.add(1000, 2);
    EXPECT_EQ(r.peak(), (Peak{100, 2, 2}));
    r.forget();
    EXPECT_EQ(r.peak(), Peak{});
}

/// Compares the peak with all values of the last minute, to the bucket.
TEST(Peak, IsNeverLessThanWhatCameWithinFiftySecondsNorMoreThanOfSixty) {
    PeakRecord r;
    std::uint64_t random = 12345;
    std::vector<std::pair<double, std::uint64_t>> all;
    double at = 0;
    for (int i = 0; i < 5000; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        at += static_cast<double>(random >> 60);
        const std::uint64_t value = (random >> 33) % 1000;
        r.add(at, value);
        all.emplace_back(at, value);
        std::uint64_t least = 0;
        std::uint64_t most = 0;
        for (const auto& [when, what] : all) {
            least = at - when < 50 ? std::max(least, what) : least;
            most = at - when <= 60 ? std::max(most, what) : most;
        }
        ASSERT_GE(r.peak().minute, least);
        ASSERT_LE(r.peak().minute, most);
    }
}

}  // namespace
}  // namespace spead::stats
