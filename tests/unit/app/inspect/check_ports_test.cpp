// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_ports.hpp"

#include <gtest/gtest.h>

#include "port/pci_device.hpp"
#include "tests/support/fake_machine.hpp"
#include "tests/unit/app/inspect/expected_finding.hpp"

namespace spead::app {
namespace {

constexpr const char* kNic = "0000:03:00.0";
constexpr const char* kSlot = "/sys/bus/pci/devices/0000:03:00.0";

std::string config_space(unsigned log_size) {
    std::string bytes(256, '\0');
    bytes[0x06] = 0x10;
    bytes[0x34] = 0x40;
    bytes[0x40] = 0x01;  // power management, then PCI Express
    bytes[0x41] = 0x60;
    bytes[0x60] = 0x10;
    bytes[0x69] = static_cast<char>(log_size << 4 | 0x09);
    return bytes;
}

TEST(ConfigurationSpace, HoldsTheReadRequestSize) {
    EXPECT_EQ(max_read_request(config_space(2)), 512U);
    EXPECT_EQ(max_read_request(config_space(5)), 4096U);
    EXPECT_EQ(max_read_request(config_space(2).substr(0, 64)), std::nullopt) << "not root";
    EXPECT_EQ(max_read_request(""), std::nullopt);
    auto none = config_space(2);
    none[0x06] = 0;
    EXPECT_EQ(max_read_request(none), std::nullopt);
    auto loop = config_space(2);
    loop[0x41] = 0x40;
    EXPECT_EQ(max_read_request(loop), std::nullopt) << "a list that bites its tail";
    auto cut = config_space(2);
    cut[0x41] = static_cast<char>(0xFC);
    EXPECT_EQ(max_read_request(cut), std::nullopt);
}

class CheckCard : public testing::Test {
  protected:
    CheckCard() {
        machine_.card(kNic, port::kMellanox, "mlx5_core");
        slot("16", "16.0 GT/s PCIe");
    }
    void slot(const std::string& width, const std::string& speed) {
        machine_.file(std::string(kSlot) + "/max_link_width", "16\n");
        machine_.file(std::string(kSlot) + "/max_link_speed", "16.0 GT/s PCIe\n");
        machine_.file(std::string(kSlot) + "/current_link_width", width + "\n");
        machine_.file(std::string(kSlot) + "/current_link_speed", speed + "\n");
    }
    Finding about(const std::string& subject) {
        for (const Finding& f :
             check_card(machine_.view(), "p0", *port::pci_device(machine_.view().files, kNic)))
            if (f.subject == "p0 " + subject)
                return f;
        return {Verdict::ok, "nothing", "nothing", {}};
    }
    spead::test::FakeMachine machine_;
};

TEST_F(CheckCard, Slot) {
    expect(about("slot"), Verdict::ok, "x16 at 16.0 GT/s");
    slot("8", "16.0 GT/s PCIe");
    expect(about("slot"), Verdict::warn, "x8 at 16.0 GT/s PCIe; the card can do x16");
    slot("16", "8.0 GT/s PCIe");
    expect(about("slot"), Verdict::warn, "x16 at 8.0 GT/s");
    machine_.remove(std::string(kSlot) + "/current_link_width");
    expect(about("slot"), Verdict::ok, "nothing");
}

TEST_F(CheckCard, ReadRequests) {
    machine_.file(std::string(kSlot) + "/config", config_space(2));
    expect(about("read requests"), Verdict::warn, "512 bytes",
           "setpci -s 0000:03:00.0 CAP_EXP+8.w=3000:7000");
    machine_.file(std::string(kSlot) + "/config", config_space(5));
    expect(about("read requests"), Verdict::ok, "4096 bytes");
}

TEST_F(CheckCard, Iommu) {
    expect(about("IOMMU"), Verdict::ok, "off");
    machine_.link(std::string(kSlot) + "/iommu_group", "../../iommu_groups/7");
    machine_.file("/sys/kernel/iommu_groups/7/type", "DMA-FQ\n");
    expect(about("IOMMU"), Verdict::warn, "translates", "iommu=pt");
    machine_.file("/sys/kernel/iommu_groups/7/type", "identity\n");
    expect(about("IOMMU"), Verdict::ok, "identity");
    machine_.link(std::string(kSlot) + "/driver", "../vfio-pci");
    machine_.file("/sys/kernel/iommu_groups/7/type", "DMA\n");
    expect(about("IOMMU"), Verdict::ok, "DMA");
    machine_.remove(std::string(kSlot) + "/iommu_group");
    expect(about("IOMMU"), Verdict::warn, "off: vfio-pci gives", "intel_iommu=on");
}

}  // namespace
}  // namespace spead::app
