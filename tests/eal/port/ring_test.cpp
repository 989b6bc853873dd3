// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using testing::HasSubstr;

TEST(RingPort, ReturnsWhatIsSentInOrderAndByteForByte) {
    const Pool pool;
    auto port = open_port(request("net_ring0"));
    port->start();
    const auto tx = port->tx_queue(0);
    for (std::uint32_t i = 0; i < 500; ++i) {
        ASSERT_TRUE(send(tx, pool.make(frame(i, 60 + i))));
    }
    const auto packets = receive(port->rx_queue(0), 500);
    ASSERT_EQ(packets.size(), 500U);
    for (std::uint32_t i = 0; i < 500; ++i) {
        EXPECT_EQ(packets[i], frame(i, 60 + i)) << i;
    }
    EXPECT_TRUE(pool.full());
}

TEST(RingPort, PassesChainsAndExternalBuffersThroughAndReleasesThemAtTheReceiver) {
    const Pool pool;
    ExternalBuffer payload(frame(7, 1000));
    auto port = open_port(request("net_ring0"));
    port->start();
    rte_mbuf* packet = pool.make(frame(1, 42));
    rte_pktmbuf_chain(packet, payload.attach(pool));
    ASSERT_TRUE(send(port->tx_queue(0), packet));
    EXPECT_EQ(payload.released(), 0);
    const auto packets = receive(port->rx_queue(0), 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0].size(), 1042U);
    EXPECT_EQ(payload.released(), 1);
}

TEST(RingPort, PushesBackWhenItIsFullInsteadOfLosing) {
    const Pool pool(2047);
    auto port = open_port(request("net_ring0"));
    port->start();
    const auto tx = port->tx_queue(0);
    unsigned taken = 0;
    while (send(tx, pool.make(frame(taken, 64)))) {
        ++taken;
    }
    EXPECT_EQ(taken, 1023U);
    EXPECT_EQ(receive(port->rx_queue(0), taken).size(), taken);
    EXPECT_TRUE(port->capabilities().lossless);
}

TEST(RingPort, FreesWhatIsLeftInTheRingAtStopAndNothingOfItComesBackUnderTheSameName) {
    const Pool pool;
    for (int round = 0; round < 3; ++round) {
        auto port = open_port(request("net_ring0"));
        port->start();
        EXPECT_TRUE(receive(port->rx_queue(0), 1).empty()) << "stale packets in round " << round;
        for (std::uint32_t i = 0; i < 100; ++i) {
            ASSERT_TRUE(send(port->tx_queue(0), pool.make(frame(i, 64))));
        }
        port->stop();
        EXPECT_TRUE(pool.full()) << "round " << round;
        port->close();
    }
}

TEST(RingPort, StartStopAndCloseMayBeRepeated) {
    auto port = open_port(request("net_ring0"));
    EXPECT_FALSE(port->started());
    EXPECT_FALSE(port->link_up());
    port->start();
    port->start();
    EXPECT_TRUE(port->started());
    EXPECT_TRUE(port->link_up());
    port->stop();
    port->stop();
    EXPECT_FALSE(port->started());
    port->start();
    EXPECT_TRUE(port->link_up());
    port->close();
    port->close();
    EXPECT_FALSE(port->started());
    EXPECT_THAT(error_of([&] { port->start(); }), HasSubstr("closed"));
    EXPECT_EQ(port->remarks(), std::vector<std::string>{});
}

TEST(RingPort, TransmitQueuesBeyondTheReceiveQueuesComeBackOnThoseThatThereAre) {
    const Pool pool;
    auto port = open_port(request("net_ring0", 1, 3));
    port->start();
    for (std::uint16_t q = 0; q < 3; ++q) {
        for (std::uint32_t i = 0; i < 50; ++i) {
            ASSERT_TRUE(send(port->tx_queue(q), pool.make(frame(q * 50U + i, 64))));
        }
    }
    EXPECT_EQ(receive(port->rx_queue(0), 150).size(), 150U);
}

TEST(RingPort, TellsItsPlace) {
    auto port = open_port(request("net_ring0"));
    EXPECT_EQ(port->name(), "p0");
    EXPECT_EQ(port->device_name(), "net_ring0");
    EXPECT_EQ(port->driver_name(), "net_ring");
    EXPECT_EQ(port->netdev(), "");
    EXPECT_EQ(port->if_index(), 0U);
    EXPECT_EQ(port->source_address(), kFallbackAddress);
    EXPECT_EQ(port->mac()[0] & 0x03, 0x02) << "locally administered, not multicast";
    EXPECT_TRUE(port->capabilities().receives_own);
    EXPECT_TRUE(port->capabilities().tx_multi_segment);
    EXPECT_FALSE(port->exhausted());
    EXPECT_THAT(port->sizes(), HasSubstr("p0 (net_ring0): receive 1 x 1024 descriptors"));
    EXPECT_NE(port->device(), nullptr);
    port->close();
    EXPECT_EQ(port->device(), nullptr);
}

TEST(RingPort, ABareDriverNameGetsTheLowestFreeNumber) {
    auto first = open_port(request("net_ring"));
    auto second = open_port(request("net_ring"));
    EXPECT_EQ(first->device_name(), "net_ring0");
    EXPECT_EQ(second->device_name(), "net_ring1");
    first->close();
    EXPECT_EQ(open_port(request("net_ring"))->device_name(), "net_ring0");
}

TEST(RingPort, TwoPortsOnOneDeviceAreRefused) {
    auto first = open_port(request("net_ring0"));
    EXPECT_EQ(error_of([] { open_port(request("net_ring0")); }),
              "port p0: the device net_ring0 is already open as another port");
    first->start();
    EXPECT_TRUE(first->link_up()) << "the refused port must leave the open one alone";
}

TEST(RingPort, WrongRequestsAreRefusedWithTheReason) {
    EXPECT_EQ(error_of([] { open_port(request("net_ring0,foo=1")); }),
              "port p0: net_ring0 has no parameter \"foo\"; it has nodeaction");
    EXPECT_THAT(error_of([] { open_port(request("net_ring_with_a_long_name")); }),
                HasSubstr("net_ring allows 17"));
    EXPECT_THAT(error_of([] { open_port(request("net_ring0", 0, 1)); }),
                HasSubstr("sending would stop after 1023"));
    EXPECT_THAT(error_of([] { open_port(request("net_ring0", 17, 1)); }),
                HasSubstr("has 16 queues, and 17 are needed"));
    EXPECT_THAT(error_of([] { open_port(request("net_ring0", 0, 0)); }), HasSubstr("no stream receives"));
    auto small = request("net_ring0");
    small.mtu = 1400;
    EXPECT_EQ(
        error_of([&] { open_port(small); }),
        "port p0: mtu 1400 is too small: packets of 1472 bytes of UDP payload are IP packets of 1500 bytes");
    auto port = open_port(request("net_ring0"));
    EXPECT_THAT(error_of([&] { (void)port->rx_queue(1); }),
                HasSubstr("receive queue 1 does not exist; there are 1"));
    EXPECT_THAT(error_of([&] { (void)port->tx_queue(1); }),
                HasSubstr("transmit queue 1 does not exist; there are 1"));
}

TEST(RingPort, ADriverNobodyKnowsIsRefusedWithTheOnesThereAre) {
    const auto text = error_of([] { open_port(request("net_rang0")); });
    EXPECT_THAT(text, HasSubstr("no driver for the device \"net_rang0\""));
    EXPECT_THAT(text, HasSubstr("net_ring, net_pcap, net_null, net_kernel, net_memif, net_af_packet"));
}

TEST(RingPort, AReasonThatOnlyEalsLogTellsIsPartOfTheError) {
    // nodeaction is the one parameter of net_ring; what it says is checked by the PMD alone.
    const auto text = error_of([] { open_port(request("net_ring0,nodeaction=r1")); });
    EXPECT_THAT(text, HasSubstr("EAL cannot attach \"net_ring0,nodeaction=r1\""));
    EXPECT_THAT(text, HasSubstr("could not parse node value"));
    EXPECT_EQ(open_port(request("net_ring0"))->device_name(), "net_ring0") << "the name is free again";
}

}  // namespace
}  // namespace spead::port::test
