// SPDX-License-Identifier: BSD-3-Clause
#include "stats/rates.hpp"

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

TEST(Rates, AreTheDifferencePerSecond) {
    EXPECT_EQ(rate(100, 350, 0.5), 500.0);
    EXPECT_EQ(rate(7, 7, 2), 0.0);
}

TEST(Rates, ThereIsNoneWithoutTimeOrBackwards) {
    EXPECT_EQ(rate(100, 350, 0), std::nullopt);
    EXPECT_EQ(rate(100, 350, -1), std::nullopt);
    EXPECT_EQ(rate(351, 350, 1), std::nullopt);
}

TEST(Rates, PartsAreFoundByName) {
    std::vector<StreamSnapshot> streams(2);
    streams[0].name = "a";
    streams[1].name = "b";
    EXPECT_EQ(find(streams, "b"), &streams[1]);
    EXPECT_EQ(find(streams, "c"), nullptr);
}

}  // namespace
}  // namespace spead::stats
