// SPDX-License-Identifier: BSD-3-Clause
#include "port/pci_device.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"

namespace spead::port {
namespace {

using testing::ElementsAre;

TEST(PciAddress, HasOneForm) {
    EXPECT_EQ(pci_address("0000:03:00.0"), "0000:03:00.0");
    EXPECT_EQ(pci_address("03:00.1"), "0000:03:00.1");
    EXPECT_EQ(pci_address("pci:0000:AF:1f.7"), "0000:af:1f.7");
    EXPECT_EQ(pci_address("10000:e1:00.0"), "10000:e1:00.0") << "a domain of Intel's VMD";
    for (const char* const text : {"", "eth0", "03:00", "03:00.8", "3:00.0", "0000:03:00.00", "10.0.0.5",
                                   "00:03:00.0", "0000:zz:00.0", "a.0", ":.0", "mlx5_0"}) {
        EXPECT_EQ(pci_address(text), std::nullopt) << text;
    }
}

TEST(PciDevice, IsWhatSysTells) {
    spead::test::FakeMachine machine;
    machine.card("0000:03:00.0", kMellanox, "mlx5_core");
    machine.netdev("ens1f0", "0000:03:00.0");
    machine.rdma("0000:03:00.0", "mlx5_0", "uverbs3");
    machine.link("/sys/bus/pci/devices/0000:03:00.0/iommu_group", "../../kernel/iommu_groups/17");
    const auto card = pci_device(machine.view().files, "0000:03:00.0");
    ASSERT_TRUE(card);
    EXPECT_EQ(card->vendor, 0x15b3);
    EXPECT_TRUE(card->network);
    EXPECT_EQ(card->driver, "mlx5_core");
    EXPECT_THAT(card->netdevs, ElementsAre("ens1f0"));
    EXPECT_THAT(card->rdma, ElementsAre("mlx5_0"));
    EXPECT_THAT(card->verbs, ElementsAre("uverbs3"));
    EXPECT_EQ(card->numa_node, 1);
    EXPECT_EQ(card->iommu_group, "17");
    EXPECT_TRUE(card->iommu);
    EXPECT_EQ(pci_device(machine.view().files, "0000:04:00.0"), std::nullopt);
}

TEST(PciDevice, VfiosSubstituteIsNoIommu) {
    spead::test::FakeMachine machine;
    machine.card("0000:03:00.0", 0x8086, "vfio-pci");
    EXPECT_FALSE(pci_device(machine.view().files, "0000:03:00.0")->iommu);
    machine.file("/groups/0/name", "vfio-noiommu\n");
    machine.link("/sys/bus/pci/devices/0000:03:00.0/iommu_group", "../../../../../groups/0");
    const auto card = pci_device(machine.view().files, "0000:03:00.0");
    EXPECT_EQ(card->iommu_group, "0");
    EXPECT_FALSE(card->iommu);
}

TEST(PciDevice, AnInterfaceMayStandOneBusFurther) {
    spead::test::FakeMachine machine;
    machine.card("0000:00:03.0", 0x1af4, "virtio-pci");
    machine.directory("/sys/bus/pci/devices/0000:00:03.0/virtio2/net/eth0");
    EXPECT_THAT(pci_device(machine.view().files, "0000:00:03.0")->netdevs, ElementsAre("eth0"));
}

TEST(PciDeviceOf, IsTheCardBehindAnInterface) {
    spead::test::FakeMachine machine;
    machine.card("0000:03:00.0", kMellanox, "mlx5_core");
    const NetdevFacts on_card = machine.netdev("ens1f0", "0000:03:00.0");
    const NetdevFacts alone = machine.netdev("veth0");
    EXPECT_EQ(pci_device_of(machine.view(), on_card)->address, "0000:03:00.0");
    EXPECT_EQ(pci_device_of(machine.view(), alone), std::nullopt);
}

TEST(PciDeviceOf, AnInterfaceOfAnotherNamespaceIsAnother) {
    spead::test::FakeMachine machine;
    machine.card("0000:03:00.0", kMellanox, "mlx5_core");
    NetdevFacts elsewhere = machine.netdev("eth0", "0000:03:00.0");
    elsewhere.index += 1;
    EXPECT_EQ(pci_device_of(machine.view(), elsewhere), std::nullopt);
}

TEST(PciNetworkDevices, AreTheNetworkCards) {
    spead::test::FakeMachine machine;
    machine.card("0000:04:00.0", 0x8086, "ice");
    machine.card("0000:03:00.0", kMellanox, "mlx5_core");
    machine.card("0000:01:00.0", 0x144d, "nvme");
    machine.file("/sys/bus/pci/devices/0000:01:00.0/class", "0x010802\n");
    const auto cards = pci_network_devices(machine.view().files);
    ASSERT_EQ(cards.size(), 2U);
    EXPECT_EQ(cards[0].address, "0000:03:00.0");
    EXPECT_EQ(cards[1].driver, "ice");
}

}  // namespace
}  // namespace spead::port
