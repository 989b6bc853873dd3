// SPDX-License-Identifier: BSD-3-Clause
#include "base/interface_addresses.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(InterfaceAddresses, HaveThoseOfTheLoopbackInterface) {
    EXPECT_TRUE(std::ranges::any_of(interface_addresses(), [](const InterfaceAddress& one) {
        return one.interface == "lo" && one.address == parse_ip("127.0.0.1");
    }));
}

}  // namespace
}  // namespace spead
