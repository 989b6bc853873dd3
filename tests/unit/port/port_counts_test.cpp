// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_counts.hpp"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "port/device_calls.hpp"
#include "tests/unit/port/plain_driver.hpp"

namespace spead::port::test {
namespace {

/// Answers with counts that a test has written.
class CountingDevice : public DeviceCalls {
  public:
    rte_eth_stats now{};
    bool answers = true;
    unsigned asked = 0;

    int stats(std::uint16_t, rte_eth_stats& stats) override {
        ++asked;
        if (!answers) {
            return -ENODEV;
        }
        stats = now;
        return 0;
    }
};

class PortCountsTest : public testing::Test {
  protected:
    CountingDevice card;
    DeviceCallsInstead instead{card};
    PlainDriver driver;
    PreparedDevice device;
    PortCounts counts{driver, device};
};

TEST_F(PortCountsTest, AddsLossesBeforeTheDeviceToItsOwn) {
    card.now.imissed = 10;
    card.now.rx_nombuf = 3;
    card.now.ierrors = 20;
    card.now.oerrors = 5;
    driver.missed = 7;
    counts.update(0);
    EXPECT_EQ(counts.nic().missed, 17U);
    EXPECT_EQ(counts.nic().no_mbuf, 3U);
    EXPECT_EQ(counts.nic().errors, 25U);
    EXPECT_EQ(counts.nic().send_errors, 5U);
    driver.missed = 2;
    card.now.imissed = 11;
    counts.update(0);
    EXPECT_EQ(counts.nic().missed, 20U) << "the driver tells each loss once";
}

TEST_F(PortCountsTest, KeepsTheLastCountsOfADeviceThatHasNone) {
    card.now.imissed = 10;
    counts.update(0);
    card.answers = false;
    driver.missed = 4;
    counts.update(0);
    EXPECT_EQ(counts.nic().missed, 10U);
    card.answers = true;
    counts.update(0);
    EXPECT_EQ(counts.nic().missed, 14U) << "no loss is taken from the driver and forgotten";
}

TEST_F(PortCountsTest, WrittenPacketsCountFromTheLastStart) {
    device.outputs = {"a.pcap", "b.pcap"};
    device.tx_queues = 2;
    card.now.q_opackets[0] = 100;
    card.now.q_obytes[0] = 6400;
    counts.restart(0);
    EXPECT_TRUE(counts.kept_written().empty());
    card.now.q_opackets[0] = 103;
    card.now.q_obytes[0] = 6600;
    card.now.q_opackets[1] = 1;
    card.now.q_obytes[1] = 60;
    const auto written = counts.written_since_start(0);
    ASSERT_EQ(written.size(), 2U);
    EXPECT_EQ(written[0].packets, 3U);
    EXPECT_EQ(written[0].bytes, 200U);
    EXPECT_EQ(written[1].packets, 1U);
    EXPECT_EQ(written[1].bytes, 60U);

    counts.keep_written(0);
    card.now = {};
    ASSERT_EQ(counts.kept_written().size(), 2U);
    EXPECT_EQ(counts.kept_written()[0].packets, 3U);
    counts.restart(0);
    EXPECT_TRUE(counts.kept_written().empty());
}

TEST_F(PortCountsTest, CountsAtMostTheQueuesThatTheDeviceTells) {
    device.outputs = {"a.pcap"};
    device.tx_queues = RTE_ETHDEV_QUEUE_STAT_CNTRS + 1;
    counts.restart(0);
    EXPECT_EQ(counts.written_since_start(0).size(), std::size_t{RTE_ETHDEV_QUEUE_STAT_CNTRS});
}

TEST_F(PortCountsTest, AsksNothingWithoutFiles) {
    device.tx_queues = 1;
    counts.restart(0);
    EXPECT_TRUE(counts.written_since_start(0).empty());
    EXPECT_EQ(card.asked, 0U);
}

}  // namespace
}  // namespace spead::port::test
