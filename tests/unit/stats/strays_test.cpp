// SPDX-License-Identifier: BSD-3-Clause
#include "stats/strays.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

std::uint64_t count_of(const Strays& strays, std::uint32_t address, std::uint16_t port) {
    for (const Strays::Stray& s : strays.all)
        if (s.count != 0 && s.address == IpAddress(address) && s.port == port)
            return s.count;
    return 0;
}

TEST(Strays, CountsAFewDestinationsExactly) {
    Strays strays;
    for (std::uint32_t i = 1; i <= Strays::kMost; i++)
        for (std::uint32_t n = 0; n < i; n++)
            strays.note(IpAddress(i), 7148, IpAddress(9U));
    for (std::uint32_t i = 1; i <= Strays::kMost; i++)
        EXPECT_EQ(count_of(strays, i, 7148), i);
    EXPECT_EQ(count_of(strays, 1, 7149), 0U) << "the port counts, too";
}

TEST(Strays, KeepsTheDestinationOfMostPacketsWhateverElseComes) {
    Strays strays;
    for (std::uint32_t i = 0; i < 3000; i++) {
        strays.note(IpAddress(7U), 7148, IpAddress(9U));
        strays.note(IpAddress(1000 + i), 7148, IpAddress(9U));
        ASSERT_GT(count_of(strays, 7, 7148), 0U) << i;
    }
    EXPECT_GT(count_of(strays, 7, 7148), 1000U);
    EXPECT_LE(count_of(strays, 7, 7148), 3000U) << "never too high";
}

TEST(Strays, SumsKeepTheLargest) {
    Strays sum;
    for (std::uint32_t i = 1; i <= Strays::kMost; i++)
        sum.note(IpAddress(i), 1, IpAddress(9U));
    Strays other;
    for (int i = 0; i < 10; i++)
        other.note(IpAddress(99U), 1, IpAddress(8U));
    sum.add(other);
    EXPECT_EQ(count_of(sum, 99, 1), 9U) << "one each made room for it";
}

}  // namespace
}  // namespace spead::stats
