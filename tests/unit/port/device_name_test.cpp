// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_name.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/fake_machine.hpp"

namespace spead::port {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Drives network interfaces of the kernel.
class OnNetdev final : public Driver {
  public:
    OnNetdev(std::string name, int rank, std::string declines = {})
        : name_(std::move(name)), rank_(rank), declines_(std::move(declines)) {}
    std::string_view name() const override { return name_; }
    Capabilities declared() const override { return {}; }
    PreparedDevice plan(const PortRequest&) const override { return {}; }
    int netdev_rank() const override { return rank_; }
    std::string why_not(const PortRequest&, const std::string& netdev) const override {
        return declines_.empty() ? std::string{} : declines_ + " " + netdev;
    }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("{},iface={}", name_, netdev);
    }

  private:
    std::string name_;
    int rank_;
    std::string declines_;
};

/// Drives cards.
class OnCard final : public Driver {
  public:
    OnCard(std::string name, std::string kernel_driver)
        : name_(std::move(name)), kernel_driver_(std::move(kernel_driver)) {}
    std::string_view name() const override { return name_; }
    Capabilities declared() const override { return {}; }
    PreparedDevice plan(const PortRequest&) const override { return {}; }
    bool pci() const override { return true; }
    bool drives(const PciDevice& card) const override { return card.driver == kernel_driver_; }
    std::string translate(std::string_view netdev) const override {
        return fmt::format("card-of-{}", netdev);
    }

  private:
    std::string name_, kernel_driver_;
};

const OnNetdev kRing("net_ring", 0);
const OnNetdev kPacket("net_packet", 10);
const OnNetdev kXdp("net_xdp", 20);
const OnNetdev kXdpDeclines("net_xdp", 20, "no CAP_BPF for");
const OnNetdev kPacketDeclines("net_packet", 10, "no CAP_NET_RAW for");
const OnCard kMlx("net_mlx", "mlx5_core");
const OnCard kVfio("net_pci", "vfio-pci");
const std::vector<const Driver*> kTable{&kRing, &kPacket, &kXdp, &kMlx, &kVfio};

class DeviceName : public testing::Test {
  protected:
    DeviceName() {
        machine_.card("0000:03:00.0", kMellanox, "mlx5_core");
        machine_.netdev("ens1f0", "0000:03:00.0").address = parse_ipv4("10.0.0.5");
        machine_.rdma("0000:03:00.0", "mlx5_0");
        machine_.card("0000:04:00.0", 0x8086, "ice");
        NetdevFacts& ens2 = machine_.netdev("ens2", "0000:04:00.0");
        ens2.address = parse_ipv4("10.0.1.5");
        ens2.address6 = parse_ip("fd00::1").v6();
        machine_.card("0000:05:00.0", 0x8086, "vfio-pci");
        machine_.card("0000:06:00.0", 0x8086, "");
        machine_.card("0000:07:00.0", kMellanox, "vfio-pci");
    }

    NamedDevice named(const std::string& device, std::vector<const Driver*> table = kTable,
                      const std::vector<std::string>& eal = {}) {
        PortRequest request;
        request.name = "p0";
        request.device = device;
        return name_device(request, table, eal, machine_.view());
    }
    template <typename E>
    std::string refusal(const std::string& device, const std::vector<const Driver*>& table = kTable) {
        try {
            return named(device, table).device + " is accepted";
        } catch (const E& error) {
            EXPECT_EQ(typeid(error), typeid(E)) << error.what();
            return error.what();
        }
    }

    spead::test::FakeMachine machine_;
};

TEST_F(DeviceName, AVdevStringIsItsFamilys) {
    EXPECT_EQ(named("net_ring0,a=1").driver, &kRing);
    EXPECT_EQ(named("vdev:net_ring0").device, "vdev:net_ring0");
    EXPECT_EQ(named("net_packet0,iface=ens2").driver, &kPacket) << "although net_xdp could drive ens2";
    EXPECT_THAT(named("net_packet0,iface=ens2").remarks, IsEmpty());
}

TEST_F(DeviceName, AnInterfaceGoesToTheBestFamily) {
    const NamedDevice device = named("ens2");
    EXPECT_EQ(device.driver, &kXdp);
    EXPECT_EQ(device.device, "net_xdp,iface=ens2");
    EXPECT_THAT(device.remarks, ElementsAre("port p0: ens2 is driven by net_xdp"));
}

TEST_F(DeviceName, WhatFollowsTheCommaGoesAlong) {
    EXPECT_EQ(named("ens2,force_copy=1").device, "net_xdp,iface=ens2,force_copy=1");
    EXPECT_EQ(named("10.0.1.5,force_copy=1").device, "net_xdp,iface=ens2,force_copy=1");
    EXPECT_EQ(named("fd00::1,force_copy=1").device, "net_xdp,iface=ens2,force_copy=1");
    EXPECT_EQ(named("[fd00::1]").device, "net_xdp,iface=ens2");
    EXPECT_EQ(named("05:00.0,a=1").device, "0000:05:00.0,a=1");
    EXPECT_EQ(named("mlx5_0,a=1").device, "0000:03:00.0,a=1");
}

TEST_F(DeviceName, AFamilyThatDeclinesIsRemarkedWithItsReason) {
    const NamedDevice device = named("ens2", {&kRing, &kPacket, &kXdpDeclines});
    EXPECT_EQ(device.driver, &kPacket);
    EXPECT_THAT(device.remarks,
                ElementsAre("port p0: ens2 is driven by net_packet (net_xdp: no CAP_BPF for ens2)"));
}

TEST_F(DeviceName, WhereAllDeclineTheirReasonsAreTheError) {
    EXPECT_EQ(
        refusal<Error>("ens2", {&kPacketDeclines, &kXdpDeclines}),
        "port p0: no driver can use the network interface ens2: net_xdp: no CAP_BPF for ens2; net_packet: "
        "no CAP_NET_RAW for ens2");
    EXPECT_THAT(refusal<Error>("ens2", {&kRing}), HasSubstr("none is for interfaces of the kernel"));
}

TEST_F(DeviceName, AnInterfaceOfACardThatDpdkSharesIsTheCard) {
    EXPECT_EQ(named("ens1f0").driver, &kMlx);
    EXPECT_EQ(named("ens1f0").device, "card-of-ens1f0");
    EXPECT_EQ(named("10.0.0.5,a=1").device, "card-of-ens1f0,a=1");
    EXPECT_EQ(named("net_packet0,iface=ens1f0").driver, &kPacket) << "asked for";
}

TEST_F(DeviceName, AnInterfaceWinsOverWhatElseHasItsName) {
    machine_.netdev("mlx5_0");
    machine_.netdev("net_ring7");
    EXPECT_EQ(named("mlx5_0").device, "net_xdp,iface=mlx5_0");
    EXPECT_EQ(named("net_ring7").device, "net_xdp,iface=net_ring7");
    EXPECT_EQ(named("vdev:net_ring7").driver, &kRing);
    EXPECT_EQ(named("net_ring7", kTable, {"net_ring7,x=1"}).driver, &kRing) << "EAL's --vdev makes it";
}

TEST_F(DeviceName, ACardIsItsAddress) {
    EXPECT_EQ(named("0000:05:00.0").driver, &kVfio);
    EXPECT_EQ(named("05:00.0").device, "0000:05:00.0");
    EXPECT_EQ(named("pci:0000:05:00.0").device, "0000:05:00.0");
    EXPECT_EQ(named("0000:03:00.0").driver, &kMlx);
}

TEST_F(DeviceName, AnRdmaDeviceStandsForItsCard) {
    EXPECT_EQ(named("mlx5_0").device, "0000:03:00.0");
    EXPECT_EQ(named("mlx5_0").driver, &kMlx);
    EXPECT_THAT(refusal<Error>("mlx5_1"), HasSubstr("no driver for the device \"mlx5_1\""));
}

TEST_F(DeviceName, ACardThatTheKernelKeepsNamesBothWaysOut) {
    EXPECT_THAT(refusal<Error>("0000:04:00.0"),
                AllOf(HasSubstr("port p0: 0000:04:00.0 is bound to the kernel driver ice"),
                      HasSubstr("name its network interface (ens2)"),
                      HasSubstr("driverctl set-override 0000:04:00.0 vfio-pci"),
                      HasSubstr("dpdk-devbind.py --bind=vfio-pci 0000:04:00.0")));
    EXPECT_THAT(refusal<Error>("06:00.0"),
                AllOf(HasSubstr("0000:06:00.0 is bound to no kernel driver"), HasSubstr("vfio-pci")));
}

TEST_F(DeviceName, AMellanoxCardStaysWithTheKernel) {
    EXPECT_THAT(refusal<Error>("07:00.0", {&kRing, &kMlx}),
                AllOf(HasSubstr("stays with its kernel driver"), HasSubstr("--bind=mlx5_core 0000:07:00.0")));
}

TEST_F(DeviceName, WhatIsNotThereIsRefusedWithWhatIs) {
    EXPECT_THAT(refusal<Error>("0000:ff:1f.7"),
                AllOf(HasSubstr("there is no PCI device 0000:ff:1f.7"),
                      HasSubstr("ens2 (10.0.1.5, ice at 0000:04:00.0, up)"),
                      HasSubstr("0000:05:00.0 (vfio-pci, not the kernel's)")));
    EXPECT_THAT(refusal<Error>("10.9.9.9"),
                AllOf(HasSubstr("no network interface of this machine has the address 10.9.9.9"),
                      HasSubstr("ens1f0 (10.0.0.5, ")));
    EXPECT_THAT(refusal<Error>("fd00::9"),
                HasSubstr("no network interface of this machine has the address fd00::9"));
    EXPECT_THAT(refusal<Error>("ens7"),
                AllOf(HasSubstr("no driver for the device \"ens7\""), HasSubstr("ens1f0 (10.0.0.5, "),
                      HasSubstr("one of net_ring, net_packet, net_xdp;")));
    // An interface can never have such a name.
    for (const char* const name : {"", "a/b", "two words", "sixteen_letters_", "net_nonsense0", ".."})
        EXPECT_THAT(refusal<UsageError>(name),
                    HasSubstr(fmt::format("no driver for the device \"{}\"", name)));
    machine_.card("0000:01:00.0", 0x144d, "nvme");
    machine_.file("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n");
    EXPECT_THAT(refusal<Error>("01:00.0"), HasSubstr("is not a network card"));
}

}  // namespace
}  // namespace spead::port
