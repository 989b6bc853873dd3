// SPDX-License-Identifier: BSD-3-Clause
/// Tests requests that need no room in mbufs, and so no EAL; tests/eal/port/timestamps_test.cpp has the
/// others.
#include "port/port_times.hpp"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "port/device_calls.hpp"

namespace spead::port::test {
namespace {

/// Fails the test when its clock is read.
class UnreadClock : public DeviceCalls {
  public:
    int read_clock(std::uint16_t, std::uint64_t&) override {
        ADD_FAILURE() << "nothing needs the clock";
        return -ENOTSUP;
    }
};

class PortTimesTest : public testing::Test {
  protected:
    PortTimesTest() {
        request.name = "p0";
        device.name = "net_plain0";
        device.rx_queues = device.tx_queues = 1;
        capabilities.rx_timestamps = RxTimestamps::device_clock;
        capabilities.send_on_time = true;
    }

    std::string refusal() {
        try {
            times.choose(info, capabilities);
        } catch (const Error& error) {
            return error.what();
        }
        return {};
    }
    void expect_none() {
        EXPECT_EQ(refusal(), "");
        EXPECT_EQ(capabilities.rx_timestamps, RxTimestamps::none);
        EXPECT_FALSE(capabilities.send_on_time);
        EXPECT_EQ(capabilities.rx_offloads, 0U);
        EXPECT_EQ(capabilities.tx_offloads, 0U);
        EXPECT_EQ(times.arrivals(), nullptr);
        EXPECT_EQ(times.send_times().clock, nullptr);
    }
    void report_both() {
        info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_TIMESTAMP;
        info.tx_offload_capa = RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP;
    }

    UnreadClock card;
    DeviceCallsInstead instead{card};
    PortRequest request;
    PreparedDevice device;
    rte_eth_dev_info info{};
    Capabilities capabilities;
    PortTimes times{request, device};
    std::vector<std::string> remarks;
};

TEST_F(PortTimesTest, AreNotChosenUnlessRequested) {
    report_both();
    expect_none();
}

TEST_F(PortTimesTest, AreNotChosenWithoutQueues) {
    report_both();
    device.rx_queues = device.tx_queues = 0;
    request.timestamps = request.send_on_time = UseDevice::must;
    expect_none();
}

TEST_F(PortTimesTest, AreNotChosenWithoutTheDevicesReport) {
    request.timestamps = request.send_on_time = UseDevice::if_it_can;
    expect_none();
}

TEST_F(PortTimesTest, AreNotChosenWithoutTheFamilysDeclaration) {
    report_both();
    capabilities.rx_timestamps = RxTimestamps::none;
    capabilities.send_on_time = false;
    request.timestamps = request.send_on_time = UseDevice::if_it_can;
    expect_none();
}

TEST_F(PortTimesTest, ADemandThatTheDeviceLacksIsRefused) {
    request.timestamps = UseDevice::must;
    EXPECT_NE(refusal().find("port p0: net_plain0 has no times of arrival"), std::string::npos) << refusal();
    request.timestamps = UseDevice::never;
    request.send_on_time = UseDevice::must;
    EXPECT_NE(refusal().find("port p0: net_plain0 does not send packets at a given time"), std::string::npos)
        << refusal();
}

TEST_F(PortTimesTest, NoClockIsReadUnlessTimesAreChosen) {
    report_both();
    expect_none();
    times.start(0, remarks);
    times.follow(0, remarks);
    EXPECT_TRUE(remarks.empty());
}

}  // namespace
}  // namespace spead::port::test
