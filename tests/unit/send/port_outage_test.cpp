// SPDX-License-Identifier: BSD-3-Clause
#include "send/port_outage.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace spead::send {
namespace {

constexpr double kOutageHz = 1000;  ///< ticks are milliseconds

/// Refuses every `step` from `begin` on until `end`; returns how much longer the outage is.
std::uint64_t refuse(PortOutage& outage, std::uint64_t begin, std::uint64_t end, std::uint64_t step = 10) {
    std::uint64_t longer = 0;
    for (std::uint64_t now = begin; now <= end; now += step)
        longer += outage.refused(now);
    return longer;
}

TEST(PortOutage, BeginsAfterASecondAndCountsItWhole) {
    PortOutage outage(kOutageHz);
    EXPECT_FALSE(outage.begun());
    EXPECT_EQ(refuse(outage, 5000, 5990), 0U);
    EXPECT_TRUE(outage.begun());
    EXPECT_FALSE(outage.lasts());
    EXPECT_EQ(outage.refused(6000), 1000U);
    EXPECT_TRUE(outage.lasts());
    EXPECT_EQ(refuse(outage, 6010, 7000), 1000U);
}

TEST(PortOutage, IsOverWhenThePortTakesSomething) {
    PortOutage outage(kOutageHz);
    refuse(outage, 0, 2000);
    outage.end();
    EXPECT_FALSE(outage.begun());
    EXPECT_FALSE(outage.lasts());
    EXPECT_EQ(refuse(outage, 2010, 3000), 0U);
    EXPECT_FALSE(outage.lasts());
}

TEST(PortOutage, TimeInWhichThePortIsNotAskedDoesNotCount) {
    PortOutage outage(kOutageHz);
    refuse(outage, 0, 600);
    outage.pause();
    EXPECT_TRUE(outage.begun()) << "what was refused before counts on";
    EXPECT_EQ(refuse(outage, 100'000, 100'390), 0U);
    EXPECT_FALSE(outage.lasts());
    EXPECT_EQ(outage.refused(100'400), 1000U);
}

TEST(PortOutage, AnLcoreThatWasAwayHasNotAsked) {
    PortOutage outage(kOutageHz);
    outage.refused(0);
    for (std::uint64_t i = 1; i < 20; ++i)
        EXPECT_EQ(outage.refused(i * 10'000), 0U) << i;
    EXPECT_TRUE(outage.refused(200'000) != 0) << "50 ms at a time";
}

TEST(PortOutage, AClockThatGoesBackIsBorne) {
    PortOutage outage(kOutageHz);
    outage.refused(10'000);
    outage.refused(9'000);
    EXPECT_EQ(refuse(outage, 9'010, 9'990), 0U);
    EXPECT_FALSE(outage.lasts());
}

}  // namespace
}  // namespace spead::send
