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

TEST(TickRate, IsReadWhereTheThreadKeptItsCpu) {
    // The clocks run alike. The thread loses its CPU beside each reading but the third: before it or after
    // it.
    std::uint64_t now = 1000;
    int readings = 0;
    const auto ticks = [&] { return now += 5; };
    const auto ns = [&] {
        readings++;
        now += readings != 3 && readings % 2 == 0 ? 10'000 : 5;
        const auto shown = static_cast<std::int64_t>(now);
        now += readings != 3 && readings % 2 == 1 ? 10'000 : 0;
        return shown;
    };
    const ClockReading both = read_together(ticks, ns);
    EXPECT_NEAR(static_cast<double>(both.ticks), static_cast<double>(both.ns), 10);
    EXPECT_GT(readings, 3);
}

}  // namespace
}  // namespace spead
