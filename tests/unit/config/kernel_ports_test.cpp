// SPDX-License-Identifier: BSD-3-Clause
#include "config/kernel_ports.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::Backend;
using runtime::Plan;
using spead::test::error_of;
using testing::HasSubstr;

/// Returns a plan of two streams on a port of this device, the first of them through the kernel.
Plan plan_on(const std::string& device) {
    Plan plan;
    plan.ports.push_back({"p0", device, 0});
    plan.receives.push_back(spead::test::receive_plan("s0", "239.1.2.3:7148"));
    plan.receives.push_back(spead::test::receive_plan("s1", "239.1.2.4:7148"));
    plan.receives.front().backend = Backend::kernel;
    return plan;
}

TEST(KernelPorts, AStreamGetsAPortBesideThatOfTheOthers) {
    Plan plan = plan_on("ens1f0");
    add_kernel_ports(plan);
    ASSERT_EQ(plan.ports.size(), 2U);
    EXPECT_EQ(plan.ports[0].device, "ens1f0");
    EXPECT_EQ(plan.ports[1].name, "p0-kernel");
    EXPECT_EQ(plan.ports[1].device, "net_kernel,iface=ens1f0");
    EXPECT_EQ(plan.receives[0].port, "p0-kernel");
    EXPECT_EQ(plan.receives[1].port, "p0");
    validate(plan);
    const Plan once = plan;
    add_kernel_ports(plan);
    EXPECT_EQ(plan, once) << "a saved plan is read again";
}

TEST(KernelPorts, APortWithoutOtherUsersBecomesOne) {
    Plan plan = plan_on("10.0.0.5");
    plan.receives.pop_back();
    add_kernel_ports(plan);
    ASSERT_EQ(plan.ports.size(), 1U);
    EXPECT_EQ(plan.ports[0].device, "net_kernel,iface=10.0.0.5");
    EXPECT_EQ(plan.receives[0].port, "p0");
    // A sender needs the device as it is.
    Plan with_sender = plan_on("10.0.0.5");
    with_sender.receives.pop_back();
    with_sender.sends.push_back(spead::test::send_plan("d0", "239.20.0.1:7148"));
    add_kernel_ports(with_sender);
    EXPECT_EQ(with_sender.ports.size(), 2U);
    EXPECT_EQ(with_sender.ports[0].device, "10.0.0.5");
}

TEST(KernelPorts, AreFoundByTheInterfaceOfADeviceString) {
    for (const char* const device : {"veth0", "veth0,mprq_en=1", "net_af_packet0,iface=veth0",
                                     "net_af_xdp0,start_queue=1,iface=veth0,queue_count=2"}) {
        Plan plan = plan_on(device);
        add_kernel_ports(plan);
        ASSERT_EQ(plan.ports.size(), 2U) << device;
        EXPECT_EQ(plan.ports[1].device, "net_kernel,iface=veth0") << device;
    }
}

TEST(KernelPorts, OneServesAllStreamsThatWantIt) {
    Plan plan = plan_on("ens1f0");
    plan.receives.push_back(spead::test::receive_plan("s2", "239.1.2.5:7148"));
    plan.receives.back().backend = Backend::kernel;
    add_kernel_ports(plan);
    EXPECT_EQ(plan.ports.size(), 2U);
    EXPECT_EQ(plan.receives[0].port, "p0-kernel");
    EXPECT_EQ(plan.receives[2].port, "p0-kernel");
}

TEST(KernelPorts, AVlanIsRefusedBesideOthersAndAlone) {
    for (const bool alone : {false, true}) {
        Plan plan = plan_on("ens1f0");
        if (alone)
            plan.receives.pop_back();
        plan.ports.front().vlan = 7;
        add_kernel_ports(plan);
        EXPECT_THAT(
            error_of([&] { validate(plan); }),
            HasSubstr("stream `s0` is received by kernel sockets in VLAN 7, and the kernel takes tags "
                      "off; name the network interface of that VLAN"));
    }
}

TEST(KernelPorts, ANameThatAnotherDeviceHasIsRefused) {
    Plan plan = plan_on("ens1f0");
    plan.ports.push_back({"p0-kernel", "net_kernel0,iface=ens1f1", 0});
    EXPECT_EQ(
        error_of([&] { add_kernel_ports(plan); }),
        "port p0-kernel: a stream on port `p0` has backend = \"kernel\", so a port of this name is made "
        "for net_kernel,iface=ens1f0, and the name is taken by net_kernel0,iface=ens1f1; give that port "
        "another name");
    plan.ports.back().device = "net_kernel,iface=ens1f0";
    add_kernel_ports(plan);
    EXPECT_EQ(plan.ports.size(), 2U) << "a saved plan to which a stream was added";
    EXPECT_EQ(plan.receives[0].port, "p0-kernel");
}

// The file that `save` writes names the ports as they run.
TEST(KernelPorts, ASavedPlanIsReadAsItRan) {
    for (const bool alone : {false, true}) {
        Plan plan = plan_on("ens1f0");
        if (alone)
            plan.receives.pop_back();
        add_kernel_ports(plan);
        EXPECT_EQ(parse_text(to_toml(plan), ""), plan);
    }
}

TEST(KernelPorts, WithoutAnInterfaceTheStreamIsRefused) {
    for (const char* const device : {"net_ring0", "0000:03:00.0", "net_memif0,role=client"}) {
        Plan plan = plan_on(device);
        add_kernel_ports(plan);
        EXPECT_EQ(plan.ports.size(), 1U) << device;
        EXPECT_THAT(error_of([&] { validate(plan); }),
                    HasSubstr("stream `s0` wants kernel sockets, and port `p0` is " + std::string(device)));
    }
    Plan plan = plan_on("net_kernel0");
    const Plan before = plan;
    add_kernel_ports(plan);
    EXPECT_EQ(plan, before) << "it is such a port, on the interfaces of the routes";
    validate(plan);
}

TEST(KernelPorts, ALinkLocalEndpointNeedsAnInterface) {
    for (const std::string endpoint : {"[fe80::1]:7148", "[ff02::1:7]:7148"}) {
        Plan plan = plan_on("net_kernel0");
        plan.receives.pop_back();
        plan.receives.front() = spead::test::receive_plan("s0", endpoint);
        EXPECT_THAT(error_of([&] { validate(plan); }),
                    testing::AllOf(HasSubstr(endpoint + " is link-local"), HasSubstr("--port NETDEV"),
                                   HasSubstr("net_kernel0,iface=NETDEV")));
        plan.ports.front().device += ",iface=lo";
        validate(plan);
    }
}

}  // namespace
}  // namespace spead::config
