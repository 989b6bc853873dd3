// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/numa.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::runtime {
namespace {

constexpr const char* kCard = "0000:03:00.0";

port::PlannedPort planned(const std::string& name) {
    port::PlannedPort port;
    port.request.name = name;
    return port;
}

TEST(NodeOfCpu, IsWhatSysSays) {
    spead::test::FakeMachine machine;
    machine.directory("/sys/devices/system/cpu/cpu3/node1");
    machine.directory("/sys/devices/system/cpu/cpu3/topology");
    machine.directory("/sys/devices/system/cpu/cpu4/topology");
    EXPECT_EQ(node_of_cpu(machine.view().files, 3), 1);
    EXPECT_EQ(node_of_cpu(machine.view().files, 4), -1);
    EXPECT_EQ(node_of_cpu(machine.view().files, 5), -1);
}

TEST(NodeOfPort, IsThatOfTheCardBehindIt) {
    spead::test::FakeMachine machine;
    machine.card(kCard, 0x8086, "ice");
    machine.netdev("ens1", kCard);
    machine.netdev("veth0");
    port::PlannedPort card = planned("p0");
    card.device.pci = true;
    card.device.name = kCard;
    EXPECT_EQ(node_of_port(machine.view(), card), 1);
    port::PlannedPort netdev = planned("p1");
    netdev.device.netdev = "ens1";
    EXPECT_EQ(node_of_port(machine.view(), netdev), 1);
    netdev.device.netdev = "veth0";
    EXPECT_EQ(node_of_port(machine.view(), netdev), -1);
    EXPECT_EQ(node_of_port(machine.view(), planned("p2")), -1);
}

TEST(FarWorkers, AreThoseOfAnotherNode) {
    spead::test::FakeMachine machine;
    machine.card(kCard, 0x8086, "vfio-pci");
    machine.directory("/sys/devices/system/cpu/cpu0/node0");
    machine.directory("/sys/devices/system/cpu/cpu1/node1");
    Layout layout;
    layout.ports = {planned("p0"), planned("p1")};
    layout.ports[0].device.pci = true;
    layout.ports[0].device.name = kCard;
    Plan plan;
    plan.receives.resize(2);
    plan.receives[0].port = "p0";
    plan.receives[1].port = "p1";
    plan.sends.resize(1);
    plan.sends[0].port = "p0";
    layout.workers.resize(2);
    layout.workers[0].cpu = 0;
    layout.workers[0].receives = {0, 1};
    layout.workers[0].sends = {0};
    layout.workers[1].cpu = 1;
    layout.workers[1].receives = {0};
    const auto far = far_workers(machine.view(), layout, plan);
    ASSERT_EQ(far.size(), 1U) << "once for each port; p1 has no card, CPU 1 is near";
    EXPECT_EQ(far[0].cpu, 0U);
    EXPECT_EQ(far[0].cpu_node, 0);
    EXPECT_EQ(far[0].port, "p0");
    EXPECT_EQ(far[0].port_node, 1);
}

}  // namespace
}  // namespace spead::runtime
