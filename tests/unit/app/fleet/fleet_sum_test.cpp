// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_sum.hpp"

#include <gtest/gtest.h>

namespace spead::app {
namespace {

TEST(FleetSum, IsNothingOfNobody) {
    const FleetSum sum = sum_of({});
    EXPECT_EQ(sum.answer, 0U);
    EXPECT_EQ(sum.bytes_per_second, 0);
    EXPECT_EQ(sum.packets_per_second, 0);
}

TEST(FleetSum, CountsTheProcessesThatAnswer) {
    HostLook a;
    a.bytes_per_second = 5e9;
    a.packets_per_second = 1000;
    HostLook b = a;
    b.bytes_per_second = 2e9;
    const FleetSum sum = sum_of({a, no_look_at({}, "refused"), b});
    EXPECT_EQ(sum.answer, 2U);
    EXPECT_EQ(sum.bytes_per_second, 7e9);
    EXPECT_EQ(sum.packets_per_second, 2000);
}

}  // namespace
}  // namespace spead::app
