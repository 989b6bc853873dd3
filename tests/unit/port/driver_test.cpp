// SPDX-License-Identifier: BSD-3-Clause
#include "port/driver.hpp"

#include <array>
#include <functional>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "port/device_string.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/support/refusal.hpp"

namespace spead::port {
namespace {

using testing::HasSubstr;

/// Takes any parameter, and returns the request in its plan.
class Family final : public Driver {
  public:
    Family(std::string name, std::string alias, int rank = 0)
        : name_(std::move(name)), alias_(std::move(alias)), rank_(rank) {}
    std::string_view name() const override { return name_; }
    std::string_view alias() const override { return alias_; }
    Capabilities declared() const override { return {}; }
    PreparedDevice plan(const PortRequest& request) const override {
        PreparedDevice plan;
        const auto device = DeviceString::parse(request.device, "");
        plan.name = device.name();
        plan.devargs = request.device;
        plan.netdev = device.find("iface").value_or("");
        return plan;
    }
    int netdev_rank() const override { return rank_; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("{},iface={}", name_, netdev);
    }

  private:
    std::string name_, alias_;
    int rank_;
};

/// Drives cards. EAL's -a may make one.
class Cards final : public Driver {
  public:
    std::string_view name() const override { return "net_card"; }
    Capabilities declared() const override { return {}; }
    bool pci() const override { return true; }
    bool drives(const PciDevice& card) const override { return card.driver == "vfio-pci"; }
    PreparedDevice plan(const PortRequest& request) const override {
        PreparedDevice plan;
        plan.name = DeviceString::parse(request.device, "").name();
        plan.devargs = request.device;
        return plan;
    }
};

/// Ranks above the other drivers for interfaces, and refuses them all.
class Picky final : public Driver {
  public:
    std::string_view name() const override { return "net_picky"; }
    Capabilities declared() const override { return {}; }
    int netdev_rank() const override { return 20; }
    std::string why_not(const PortRequest&, const std::string&) const override { return "it has no XDP"; }
    PreparedDevice plan(const PortRequest&) const override { return {}; }
};

/// Takes an interface and refuses it later.
class Refusing final : public Driver {
  public:
    std::string_view name() const override { return "net_refusing"; }
    Capabilities declared() const override { return {}; }
    int netdev_rank() const override { return 10; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("net_refusing,iface={}", netdev);
    }
    PreparedDevice plan(const PortRequest& request) const override {
        throw_error(where(request), "this needs CAP_NET_RAW");
    }
};

const Picky kPicky;
const Refusing kRefusing;
const Family kRingFamily("net_ring", "eth_ring");
const Family kNetFamily("net", "");
const Family kPacketFamily("net_af_packet", "", 10);
const Cards kCards;
const std::array<const Driver*, 4> kFamilies{&kRingFamily, &kNetFamily, &kPacketFamily, &kCards};

/// Returns a machine with one interface, and one card that was taken from the kernel.
const Machine& machine() {
    static spead::test::FakeMachine fake;
    static const bool made = [] {
        fake.netdev("eth0");
        fake.card("0000:05:00.0", 0x8086, "vfio-pci");
        return true;
    }();
    return made ? fake.view() : this_machine();
}

PortRequest request(std::string name, std::string device) {
    PortRequest r;
    r.name = std::move(name);
    r.device = std::move(device);
    return r;
}

std::vector<PlannedPort> plans(std::vector<PortRequest> requests, std::vector<std::string> vdevs = {}) {
    return plan_ports(requests, kFamilies, vdevs, machine());
}

std::string refusal(std::vector<PortRequest> requests, std::vector<std::string> vdevs = {}) {
    return spead::test::refusal([&] { plans(std::move(requests), std::move(vdevs)); });
}

TEST(FindDriver, TakesTheLongestNameThatFits) {
    EXPECT_EQ(find_driver(kFamilies, "net_ring0"), &kRingFamily);
    EXPECT_EQ(find_driver(kFamilies, "net_ring0,a=b"), &kRingFamily);
    EXPECT_EQ(find_driver(kFamilies, "eth_ring7"), &kRingFamily);
    EXPECT_EQ(find_driver(kFamilies, "vdev:net_ring0"), &kRingFamily);
    EXPECT_EQ(find_driver(kFamilies, "net_ri"), &kNetFamily);
    EXPECT_EQ(find_driver(kFamilies, "net_af_packet"), &kPacketFamily);
    EXPECT_EQ(find_driver(kFamilies, "ring0,x=net_ring"), nullptr);
    EXPECT_EQ(find_driver(kFamilies, ""), nullptr);
}

TEST(PlanPorts, BareDriverNamesGetTheLowestFreeNumber) {
    const auto planned = plans({request("a", "net_ring"), request("b", "net_ring0"),
                                request("c", "net_ring,x=1"), request("d", "eth_ring")},
                               {"net_ring1"});
    EXPECT_EQ(planned[0].device.name, "net_ring2");
    EXPECT_EQ(planned[1].device.name, "net_ring0");
    EXPECT_EQ(planned[2].device.devargs, "net_ring3,x=1");
    EXPECT_EQ(planned[3].device.name, "eth_ring0");
    EXPECT_EQ(planned[0].driver, &kRingFamily);
}

TEST(PlanPorts, ALaterPortGetsANumberThatNoOpenOneHas) {
    const std::vector<PortRequest> requests{request("b", "net_ring"), request("c", "net_ring0")};
    const std::vector<std::string> in_use{"net_ring0", "net_ring1"};
    const auto planned = plan_ports(requests, kFamilies, {}, machine(), {}, in_use);
    EXPECT_EQ(planned[0].device.name, "net_ring2");
    EXPECT_EQ(planned[1].device.name, "net_ring0");
}

TEST(PlanPorts, ADeviceOfEalIsAdoptedWithItsArguments) {
    const auto planned =
        plans({request("a", "net_ring0"), request("b", "net_ring1")}, {"net_ring0,x=1", "net_null0"});
    EXPECT_TRUE(planned[0].request.exists);
    EXPECT_EQ(planned[0].device.devargs, "net_ring0,x=1");
    EXPECT_FALSE(planned[1].request.exists);
    EXPECT_TRUE(plans({request("a", "net_ring0,x=1")}, {"net_ring0,x=1"})[0].request.exists);
}

TEST(PlanPorts, ArgumentsBesideThoseOfEalAreRefused) {
    EXPECT_EQ(
        refusal({request("a", "net_ring0,x=2")}, {"net_ring0,x=1"}),
        "port a: EAL's --vdev already makes \"net_ring0,x=1\"; name the port net_ring0 without parameters");
}

TEST(PlanPorts, OneDeviceIsOnePort) {
    EXPECT_EQ(refusal({request("a", "net_ring0"), request("b", "net_ring0")}),
              "port b: another port already has the device net_ring0; give each port a device of its own");
}

TEST(PlanPorts, OneNetworkInterfaceIsOnePort) {
    EXPECT_EQ(refusal({request("a", "net_af_packet0,iface=eth0"), request("b", "net_af_packet1,iface=eth0")}),
              "port b: the network interface eth0 already belongs to port a; give each port an interface of "
              "its own");
    EXPECT_EQ(refusal({request("a", "net_ring0"), request("b", "net_ring1")}), "")
        << "having no network interface is not sharing one";
}

TEST(PlanPorts, WhatAPersonCallsTheDeviceIsTranslated) {
    const auto planned = plans({request("a", "eth0")});
    EXPECT_EQ(planned[0].device.devargs, "net_af_packet0,iface=eth0");
    EXPECT_EQ(planned[0].driver, &kPacketFamily);
}

TEST(PlanPorts, ACardThatEalAlreadyHasIsAdopted) {
    const auto planned = plans({request("a", "05:00.0")}, {"0000:05:00.0,x=1"});
    EXPECT_TRUE(planned[0].request.exists);
    EXPECT_EQ(planned[0].device.devargs, "0000:05:00.0,x=1");
    EXPECT_TRUE(plans({request("a", "0000:05:00.0")}, {"05:00.0"})[0].request.exists);
    EXPECT_EQ(refusal({request("a", "05:00.0,x=2")}, {"05:00.0,x=1"}),
              "port a: EAL's -a already makes \"0000:05:00.0,x=1\"; name the port 0000:05:00.0 without "
              "parameters");
}

TEST(PlanPorts, OneCardIsOnePort) {
    EXPECT_EQ(refusal({request("a", "05:00.0"), request("b", "0000:05:00.0")}),
              "port b: another port already has the device 0000:05:00.0; give each port a device of its own");
}

TEST(FindDriver, LeavesCardsToTheirAddresses) {
    EXPECT_EQ(find_driver(kFamilies, "net_card0"), &kNetFamily);
}

TEST(PlanPorts, UnknownDevicesAreRefusedWithTheDriversThereAre) {
    const auto text = refusal({request("a", "eth1")});
    EXPECT_THAT(text, HasSubstr("port a: no driver for the device \"eth1\""));
    EXPECT_THAT(text, HasSubstr("one of net_ring, net, net_af_packet"));
}

/// Tests that every refusal is reported. The first one may be the easier one to fix.
TEST(PlanPorts, WhatEveryFamilyRefusedIsTold) {
    const std::array<const Driver*, 2> table{&kPicky, &kRefusing};
    const std::vector<PortRequest> requests{request("a", "eth0")};
    try {
        plan_ports(requests, table, {}, machine());
        ADD_FAILURE() << "no Error was thrown";
    } catch (const Error& error) {
        EXPECT_STREQ(
            error.what(),
            "port a: this needs CAP_NET_RAW; before net_refusing it was offered to net_picky: it has no "
            "XDP");
    }
}

/// Selects packets by a method of its own.
class SteeredFamily final : public Driver {
  public:
    explicit SteeredFamily(Steering steering) : steering_(steering) {}
    std::string_view name() const override { return "net_steers"; }
    Capabilities declared() const override { return {.steering = steering_}; }
    PreparedDevice plan(const PortRequest&) const override {
        PreparedDevice plan;
        plan.name = "net_steers0";
        plan.capabilities = declared();
        plan.rx = queue_sizes(64, 1000, 2048, 0);
        return plan;
    }

  private:
    Steering steering_;
};

TEST(Reassembly, IsRefusedWhereFragmentsDoNotCome) {
    PortRequest r = request("a", "net_steers0");
    r.reassembled_datagrams = 256;
    for (const auto& [steering, word] :
         {std::pair(Steering::rte_flow, "rte_flow"), std::pair(Steering::xdp_map, "xdp map"),
          std::pair(Steering::sockets, "whole datagrams already")}) {
        const SteeredFamily driver(steering);
        const std::array<const Driver*, 1> table{&driver};
        EXPECT_THAT(spead::test::refusal([&] {
                        plan_ports({&r, 1}, table, {}, machine());
                    }),
                    testing::AllOf(HasSubstr("port a"), HasSubstr("`reassemble`"), HasSubstr(word)));
        const PortRequest without = request("a", "net_steers0");
        EXPECT_EQ(plan_ports({&without, 1}, table, {}, machine()).front().device.rx.mbufs, 1000U);
    }
}

TEST(Reassembly, HasBuffersAndMemoryForItsPlaces) {
    const SteeredFamily driver(Steering::software);
    const std::array<const Driver*, 1> table{&driver};
    PortRequest r = request("a", "net_steers0");
    for (const auto& [datagrams, places] :
         {std::pair(1U, 16U), std::pair(16U, 16U), std::pair(17U, 32U), std::pair(256U, 256U)}) {
        r.reassembled_datagrams = datagrams;
        const PreparedDevice plan = plan_ports({&r, 1}, table, {}, machine()).front().device;
        EXPECT_EQ(plan.rx.mbufs, 1000 + 8 * places);
        EXPECT_EQ(plan.device_bytes, places * kReassemblyBytes);
    }
}

TEST(Where, NamesThePortOrElseItsDevice) {
    EXPECT_EQ(where(request("a", "net_ring0")), "port a");
    EXPECT_EQ(where(request("", "net_ring0")), "net_ring0");
}

TEST(PreparedDevice, EalBytesAreTheDeviceAndItsPools) {
    PreparedDevice device;
    device.device_bytes = 100;
    device.rx_queues = 4;
    device.rx_pools = 2;
    device.rx.pool_bytes = 1000;
    EXPECT_EQ(device.eal_bytes(), 2100U);
}

}  // namespace
}  // namespace spead::port
