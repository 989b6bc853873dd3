// SPDX-License-Identifier: BSD-3-Clause
#include "base/tick_rate.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(TickRate, IsKnownWithoutEal) {
    const double rate = ticks_per_second();
    EXPECT_GT(rate, 1e8);
    EXPECT_LT(rate, 1e11);
    EXPECT_EQ(ticks_per_second(), rate) << "it is measured once";
}

}  // namespace
}  // namespace spead
