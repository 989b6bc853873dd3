// SPDX-License-Identifier: BSD-3-Clause
#include "port/candidates.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::port {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kHead =
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";

/// Makes a machine where eth0 carries the default route, and lo is the loopback interface.
void usual(spead::test::FakeMachine& machine) {
    machine.netdev("lo").loopback = true;
    machine.netdev("eth0").address = parse_ipv4("192.0.2.2");
    machine.file("/proc/net/route", std::string(kHead) +
                                        "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                                        "eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n");
}

TEST(LonePort, IsTheOnlyInterfaceWithoutTheDefaultRoute) {
    spead::test::FakeMachine machine;
    usual(machine);
    machine.netdev("ens1f0");
    EXPECT_EQ(lone_port(machine.view()).device, "ens1f0");
    machine.netdev("ens1f1").up = false;
    EXPECT_EQ(lone_port(machine.view()).device, "ens1f0") << "the other one is down";
}

TEST(LonePort, IsNotGuessedAmongSeveral) {
    spead::test::FakeMachine machine;
    usual(machine);
    machine.card("0000:03:00.0", kMellanox, "mlx5_core");
    machine.link("/sys/bus/pci/devices/0000:03:00.0/driver", "../mlx5_core");
    machine.netdev("ens1f0", "0000:03:00.0").address = parse_ipv4("10.0.0.5");
    machine.netdev("ens2").running = false;
    const LonePort found = lone_port(machine.view());
    EXPECT_EQ(found.device, "");
    EXPECT_EQ(
        found.why_not,
        "ens1f0, ens2 all qualify; interfaces of this machine: eth0 (192.0.2.2, up, carries the default "
        "route); ens1f0 (10.0.0.5, mlx5_core at 0000:03:00.0, up); ens2 (no carrier)");
}

TEST(LonePort, SaysWhyThereIsNone) {
    spead::test::FakeMachine machine;
    usual(machine);
    machine.netdev("ens1").up = false;
    machine.card("0000:05:00.0", 0x8086, "vfio-pci");
    EXPECT_THAT(lone_port(machine.view()).why_not,
                AllOf(HasSubstr("eth0: it carries the default route"), HasSubstr("ens1: it is down"),
                      HasSubstr("0000:05:00.0: it is bound to vfio-pci"),
                      HasSubstr("0000:05:00.0 (vfio-pci, not the kernel's)")));
    const spead::test::FakeMachine empty;
    EXPECT_EQ(lone_port(empty.view()).why_not, "this machine has no Ethernet interface");
}

TEST(Candidates, WhatIsStackedOrPartOfSomethingIsNotTaken) {
    spead::test::FakeMachine machine;
    for (const char* const kind : {"bridge", "bond", "vlan", "vxlan"}) {
        machine.netdev(std::string(kind) + "0");
        machine.file(fmt::format("/sys/class/net/{}0/uevent", kind),
                     fmt::format("DEVTYPE={}\nINTERFACE={}0\n", kind, kind));
    }
    machine.netdev("tap0");
    machine.file("/sys/class/net/tap0/tun_flags", "0x1002\n");
    machine.netdev("vethab");
    machine.link("/sys/class/net/vethab/master", "../docker0");
    EXPECT_EQ(lone_port(machine.view()).device, "");
    std::vector<std::string> reasons;
    for (const auto& c : candidates(machine.view())) {
        reasons.push_back(c.why_not);
    }
    EXPECT_THAT(reasons,
                ElementsAre("it is a bridge interface", "it is a bond interface", "it is a vlan interface",
                            "it is a vxlan interface", "it is a tun interface", "it is part of docker0"));
    machine.netdev("veth0");
    machine.file("/sys/class/net/veth0/uevent", "INTERFACE=veth0\nIFINDEX=17\n");
    EXPECT_EQ(lone_port(machine.view()).device, "veth0");
}

TEST(Candidates, AreEthernetOnly) {
    spead::test::FakeMachine machine;
    machine.netdev("ib0").ethernet = false;
    machine.netdev("lo").loopback = true;
    EXPECT_TRUE(candidates(machine.view()).empty());
    EXPECT_EQ(list_of({}), "none");
}

TEST(DefaultRoute, OfTheKernelsTable) {
    spead::test::FakeMachine machine;
    EXPECT_TRUE(default_route_netdevs(machine.view().files).empty());
    machine.file("/proc/net/route", std::string(kHead) +
                                        "a\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
                                        "b\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n"
                                        "c\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n"
                                        "cut short\n");
    EXPECT_THAT(default_route_netdevs(machine.view().files), ElementsAre("a"));
}

}  // namespace
}  // namespace spead::port
