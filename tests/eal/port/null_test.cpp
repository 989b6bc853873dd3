// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(NullPort, SwallowsPacketsAndReleasesChainsAndExternalBuffers) {
    const Pool pool;
    ExternalBuffer payload(frame(1, 9000));
    auto port = open_port(request("net_null0", 0, 1));
    port->start();
    for (std::uint32_t i = 0; i < 2000; ++i) {
        ASSERT_TRUE(send(port->tx_queue(0), pool.make(frame(i, 100))));
    }
    rte_mbuf* packet = pool.make(frame(1, 42));
    rte_pktmbuf_chain(packet, payload.attach(pool));
    ASSERT_TRUE(send(port->tx_queue(0), packet));
    EXPECT_EQ(payload.released(), 1);
    EXPECT_TRUE(pool.full());
    EXPECT_TRUE(port->capabilities().tx_multi_segment);
    EXPECT_TRUE(port->capabilities().tx_external_buffer);
    EXPECT_EQ(port->capabilities().tx_offloads, 0U) << "net_null reports none, so none may be requested";
    EXPECT_EQ(port->capabilities().late_free_segments, 0U);
}

TEST(NullPort, UsedOnlyForSendingMakesNoPackets) {
    EXPECT_EQ(plan(request("net_null0", 0, 1)).devargs, "net_null0,no-rx=1");
    EXPECT_EQ(plan(request("net_null0,no-rx=0", 0, 1)).devargs, "net_null0,no-rx=0");
    EXPECT_EQ(plan(request("net_null0,copy=1", 0, 1)).devargs, "net_null0,copy=1");
}

TEST(NullPort, MakesPacketsOfTheSizeAskedForWhenItIsReceivedFrom) {
    auto port = open_port(request("net_null0,size=9000", 1, 0));
    port->start();
    for (const auto& packet : receive(port->rx_queue(0), 200)) {
        EXPECT_EQ(packet.size(), 9000U);
    }
    EXPECT_THAT(port->remarks(), ElementsAre(HasSubstr("makes packets of 9000 arbitrary bytes")));
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

TEST(NullPort, KeepsTheReceivePoolWhenMbufsAreStillOutAndSaysSo) {
    auto port = open_port(request("net_null0", 1, 0));
    port->start();
    rte_mbuf* kept = nullptr;
    ASSERT_EQ(port->rx_queue(0).rx_burst(&kept, 1), 1);
    rte_mempool* pool = port->rx_pool(0);
    port->close();
    EXPECT_EQ(port->remarks().back(), "port p0: 1 mbuf was not returned to the pool, which stays allocated");
    rte_pktmbuf_free(kept);
    rte_mempool_free(pool);
}

TEST(NullPort, ReopensUnderItsNameManyTimes) {
    for (int i = 0; i < 20; ++i) {
        auto port = open_port(request("net_null0", 4, 4));
        port->start();
        EXPECT_EQ(receive(port->rx_queue(3), 10).size(), 10U + (32 - 10));
        port->close();
    }
}

TEST(NullPort, NoRemarksWhenThereIsNothingToTell) {
    EXPECT_THAT(plan(request("net_null0", 0, 1)).remarks, IsEmpty());
}

TEST(NullPort, WrongRequestsAreRefusedWithTheReason) {
    EXPECT_EQ(error_of([] { open_port(request("net_null0,size=65408")); }),
              "port p0: size=65408 of net_null0 is not a number from 1 to 65407");
    EXPECT_EQ(error_of([] { open_port(request("net_null0,size=big")); }),
              "port p0: size=big of net_null0 is not a number from 1 to 65407");
    EXPECT_EQ(error_of([] { open_port(request("net_null0,copy=1,no-rx=1")); }),
              "port p0: net_null takes copy=1 or no-rx=1, not both");
    EXPECT_EQ(error_of([] { open_port(request("net_null0,size=64,size=65")); }),
              "port p0: size is given 2 times for net_null0; give it once");
    EXPECT_THAT(error_of([] { open_port(request("net_null0,size")); }), HasSubstr("\"size\" in the device"));
    EXPECT_THAT(error_of([] { open_port(request("net_null0,size=")); }), HasSubstr("is not key=value"));
    EXPECT_THAT(error_of([] { open_port(request("")); }), HasSubstr("no driver for the device \"\""));
}

}  // namespace
}  // namespace spead::port::test
