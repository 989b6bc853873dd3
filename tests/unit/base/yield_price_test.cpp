// SPDX-License-Identifier: BSD-3-Clause
#include "base/yield_price.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

constexpr std::uint64_t kUnits = 3;  ///< per microsecond
constexpr std::uint64_t kDear = YieldPrice::kDearMicroseconds * kUnits;
constexpr std::uint64_t kFirst = YieldPrice::kFirstPauseMicroseconds * kUnits;

TEST(YieldPrice, CheapYieldsGoOn) {
    YieldPrice price(kUnits);
    EXPECT_FALSE(price.dear(0));
    for (std::uint64_t now = 1; now < 5000; now++)
        price.yielded(now, now + kDear - 1);
    EXPECT_FALSE(price.dear(5000 + kDear));
}

TEST(YieldPrice, ALongYieldIsFollowedBySleepsForAWhile) {
    YieldPrice price(kUnits);
    price.yielded(1000, 1000 + kDear);
    EXPECT_TRUE(price.dear(1000 + kDear));
    EXPECT_TRUE(price.dear(1000 + kDear + kFirst - 1));
    EXPECT_FALSE(price.dear(1000 + kDear + kFirst));
}

TEST(YieldPrice, TheWhileDoublesUpToALimit) {
    YieldPrice price(kUnits);
    std::uint64_t now = 0;
    std::uint64_t expected = kFirst;
    for (int i = 0; i < 20; i++) {
        price.yielded(now, now + kDear);
        now += kDear;
        ASSERT_TRUE(price.dear(now + expected - 1)) << i;
        ASSERT_FALSE(price.dear(now + expected)) << i;
        now += expected;
        expected = std::min(2 * expected, YieldPrice::kLongestPauseMicroseconds * kUnits);
    }
}

TEST(YieldPrice, IsShortAgainAfterManyCheapYields) {
    YieldPrice price(kUnits);
    price.yielded(0, kDear);
    std::uint64_t now = kDear + kFirst;
    for (unsigned i = 0; i < YieldPrice::kCheapRun; i++, now++)
        price.yielded(now, now + 1);
    price.yielded(now, now + kDear);
    EXPECT_TRUE(price.dear(now + kDear + kFirst - 1));
    EXPECT_FALSE(price.dear(now + kDear + kFirst));
}

}  // namespace
}  // namespace spead
