// SPDX-License-Identifier: BSD-3-Clause
#include "base/inet6_addresses.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(Inet6Addresses, AreReadWithTheirStates) {
    std::istringstream text(
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "fd000009000000000000000000000001 1b 40 00 c0      dut\n"
        "fd000009000000000000000000000002 1b 40 00 c8      dut\n"
        "fd000009000000000000000000000003 1b 40 00 a0      dut\n"
        "fd000009000000000000000000000004 1b 40 00 c4      dut\n"
        "nonsense\n");
    const std::vector<Inet6Address> all = inet6_addresses_in(text);
    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(IpAddress(all[0].address), parse_ip("::1"));
    EXPECT_FALSE(all[0].tentative);
    EXPECT_EQ(IpAddress(all[1].address), parse_ip("fd00:9::1"));
    EXPECT_EQ(all[1].interface, 27U);
    EXPECT_TRUE(all[1].tentative);
    EXPECT_TRUE(all[2].failed);
    EXPECT_FALSE(all[2].tentative) << "it never can be used";
    EXPECT_TRUE(all[3].deprecated);
    EXPECT_FALSE(all[4].tentative) << "the kernel is optimistic about it";
}

TEST(Inet6Addresses, OfLoopbackAreNotTentative) {
    EXPECT_FALSE(is_tentative(parse_ip("::1")));
    EXPECT_FALSE(is_tentative(parse_ip("127.0.0.1")));
    EXPECT_FALSE(has_tentative(1));
}

}  // namespace
}  // namespace spead
