// SPDX-License-Identifier: BSD-3-Clause
#include "port/netdev.hpp"

#include <gtest/gtest.h>

namespace spead::port {
namespace {

/// Holds the VLAN configuration as Linux 6.1 prints it.
const std::string kConfig = R"(VLAN Dev name    | VLAN ID
Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD
eth0.42        | 42  | eth0
science        | 43  | eth0
eth1.42        | 42  | eth1
)";

TEST(VlanNetdev, IsTheOneOfTheInterfaceAndTheNumber) {
    EXPECT_EQ(vlan_netdev_in(kConfig, "eth0", 42), "eth0.42");
    EXPECT_EQ(vlan_netdev_in(kConfig, "eth0", 43), "science");
    EXPECT_EQ(vlan_netdev_in(kConfig, "eth1", 42), "eth1.42");
}

TEST(VlanNetdev, IsNoneWhereThereIsNone) {
    EXPECT_EQ(vlan_netdev_in(kConfig, "eth1", 43), "");
    EXPECT_EQ(vlan_netdev_in(kConfig, "eth", 42), "");
    EXPECT_EQ(vlan_netdev_in("", "eth0", 42), "");
    EXPECT_EQ(vlan_netdev("no-such-interface", 42), "");
}

}  // namespace
}  // namespace spead::port
