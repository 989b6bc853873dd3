// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <linux/capability.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "drivers/table.hpp"
#include "port/sizes.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/support/refusal.hpp"

namespace spead::drivers {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kVfioCard = "0000:05:00.0";

class Pci : public testing::Test {
  protected:
    Pci() {
        machine_.card(kVfioCard, 0x8086, "vfio-pci");
        machine_.link(fmt::format("/sys/bus/pci/devices/{}/iommu_group", kVfioCard), "../../iommu_groups/17");
        machine_.file("/dev/vfio/vfio", "");
        machine_.file("/dev/vfio/17", "");
        driver_ = pci_on(machine_.view());
        request_.name = "p0";
        request_.device = kVfioCard;
        request_.rx_queues = request_.tx_queues = 1;
        request_.max_rx_packet = request_.max_tx_packet = 8972;
    }
    std::string refusal() const {
        return spead::test::refusal([&] { driver_->plan(request_); });
    }

    spead::test::FakeMachine machine_;
    std::unique_ptr<port::Driver> driver_;
    port::PortRequest request_;
};

TEST_F(Pci, DrivesWhatWasTakenFromTheKernel) {
    port::PciDevice card;
    card.vendor = 0x8086;
    card.network = true;
    for (const char* const driver : {"vfio-pci", "uio_pci_generic", "igb_uio"}) {
        card.driver = driver;
        EXPECT_TRUE(driver_->drives(card)) << driver;
    }
    for (const char* const driver : {"", "ice", "mlx5_core"}) {
        card.driver = driver;
        EXPECT_FALSE(driver_->drives(card)) << driver;
    }
    card.driver = "vfio-pci";
    card.network = false;
    EXPECT_FALSE(driver_->drives(card));
}

TEST_F(Pci, HoldsAJumboFrameInOneMbuf) {
    const auto p = driver_->plan(request_);
    EXPECT_TRUE(p.pci);
    EXPECT_FALSE(p.physical_addresses);
    EXPECT_EQ(p.devargs, kVfioCard);
    EXPECT_EQ(p.eal_mtu, 9000U);
    EXPECT_GE(p.rx.data_room - port::kHeadroom, 9022U);
    EXPECT_GT(p.rx.mbufs, p.rx.descriptors);
    EXPECT_FALSE(p.capabilities.tx_external_buffer);
    EXPECT_EQ(p.capabilities.late_free_segments, p.tx.descriptors - 1);
    EXPECT_EQ(p.capabilities.membership, port::Membership::own_host);
    EXPECT_TRUE(p.capabilities.rx_interrupt);
}

TEST_F(Pci, TheMtuIsWhatIsAskedForOrNeeded) {
    request_.max_rx_packet = request_.max_tx_packet = 1000;
    EXPECT_EQ(driver_->plan(request_).eal_mtu, 1500U);
    request_.mtu = 4000;
    EXPECT_EQ(driver_->plan(request_).eal_mtu, 4000U);
    request_.max_tx_packet = 5000;
    EXPECT_THAT(refusal(), HasSubstr("mtu 4000 is too small"));
    request_.mtu = 0;
    request_.max_rx_packet = 20000;
    EXPECT_THAT(refusal(), HasSubstr("an MTU of 20028 is needed"));
}

TEST_F(Pci, WithoutIommuAddressesArePhysical) {
    machine_.link(fmt::format("/sys/bus/pci/devices/{}/driver", kVfioCard), "../uio_pci_generic");
    const auto p = driver_->plan(request_);
    EXPECT_TRUE(p.physical_addresses);
    EXPECT_FALSE(p.capabilities.rx_interrupt) << "its one interrupt is the link's";
    machine_.without(CAP_SYS_ADMIN);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("needs physical addresses"), HasSubstr("CAP_SYS_ADMIN"),
                                 HasSubstr("intel_iommu=on")));
}

TEST_F(Pci, VfiosFilesMustBeThere) {
    machine_.remove("/dev/vfio/17");
    EXPECT_THAT(refusal(), HasSubstr("/dev/vfio/17 is not there"));
    machine_.remove("/dev/vfio/vfio");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("/dev/vfio/vfio is not there"), HasSubstr("modprobe vfio-pci")));
}

TEST_F(Pci, OtherThingsAreRefused) {
    machine_.lockable = 1 << 20;
    EXPECT_THAT(refusal(), HasSubstr("`ulimit -l` allows"));
    request_.device = "0000:09:00.0";
    EXPECT_THAT(refusal(), HasSubstr("0000:09:00.0 is not a PCI device"));
}

}  // namespace
}  // namespace spead::drivers
