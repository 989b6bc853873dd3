// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/driver_table.hpp"

#include <array>
#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace spead::app {
namespace {

class Family final : public port::Driver {
  public:
    Family(std::string name, bool card, int rank, port::Capabilities c)
        : name_(std::move(name)), card_(card), rank_(rank), declared_(c) {}
    std::string_view name() const override { return name_; }
    port::Capabilities declared() const override { return declared_; }
    port::PreparedDevice plan(const port::PortRequest&) const override { return {}; }
    bool pci() const override { return card_; }
    int netdev_rank() const override { return rank_; }

  private:
    std::string name_;
    bool card_;
    int rank_;
    port::Capabilities declared_;
};

port::Capabilities everything() {
    port::Capabilities c;
    c.steering = port::Steering::rte_flow;
    c.membership = port::Membership::kernel_socket;
    c.isolation = c.rx_interrupt = c.spreads_sources = c.lossless = true;
    c.tx_multi_segment = c.tx_external_buffer = c.tx_device_memory = true;
    c.late_free_segments = 31;
    c.max_rx_frame = 10000;
    return c;
}

const Family kCardFamily("net_card", true, 0, everything());
const Family kNetdevFamily("net_netdev", false, 10, {});
const Family kStringFamily("net_s", false, 0, {});
const std::array<const port::Driver*, 3> kFamilies{&kCardFamily, &kNetdevFamily, &kStringFamily};

TEST(DriverTable, HasARowPerFamilyInAlignedColumns) {
    EXPECT_EQ(
        driver_table(kFamilies),
        "| driver     | named by       | steering           | membership    | chains sent | zero copy "
        "| from GPUs | splits | freed late | interrupt | by source | lossless | timestamps | send times "
        "| largest frame |\n"
        "|------------|----------------|--------------------|---------------|-------------|-----------"
        "|-----------|--------|------------|-----------|-----------|----------|------------|------------"
        "|---------------|\n"
        "| net_card   | card           | rte_flow, isolated | kernel socket | yes         | yes       "
        "| yes       | -      | 31         | yes       | yes       | yes      | -          | -          "
        "| 10000         |\n"
        "| net_netdev | netdev, string | software           | none          | -           | -         "
        "| -         | -      | 0          | -         | -         | -        | -          | -          "
        "| 0             |\n"
        "| net_s      | string         | software           | none          | -           | -         "
        "| -         | -      | 0          | -         | -         | -        | -          | -          "
        "| 0             |\n");
}

TEST(DriverTable, ChainsAloneAreNoZeroCopy) {
    port::Capabilities c;
    c.tx_multi_segment = true;
    const Family family("net_x", false, 0, c);
    const std::array<const port::Driver*, 1> table{&family};
    EXPECT_THAT(driver_table(table), testing::HasSubstr("| yes         | -         |"));
}

TEST(DriverTable, AsADocument) {
    const auto list = driver_document(kFamilies);
    ASSERT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0]["driver"], "net_card");
    EXPECT_EQ(list[0]["capabilities"]["steering"], "rte_flow");
    EXPECT_EQ(list[0]["capabilities"]["late_free_segments"], 31);
    EXPECT_EQ(list[0]["capabilities"]["tx_device_memory"], true);
    EXPECT_EQ(list[1]["named_by"], "netdev, string");
    EXPECT_EQ(list[2]["capabilities"]["rx_interrupt"], false);
}

}  // namespace
}  // namespace spead::app
