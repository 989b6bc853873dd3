// SPDX-License-Identifier: BSD-3-Clause
/// Tests the times that a port reports for received packets, and those that it takes for sent ones.
#include "port/timestamps.hpp"

#include <gmock/gmock.h>
#include <time.h>

#include <rte_mbuf_dyn.h>

#include "tests/eal/port/card.hpp"
#include "tests/eal/port/port_rig.hpp"
#include "tests/support/pcap_writer.hpp"

namespace spead::port::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

PortRequest timed(const std::string& device, UseDevice timestamps,
                  UseDevice send_on_time = UseDevice::never) {
    PortRequest r = request(device, 1, 1);
    r.timestamps = timestamps;
    r.send_on_time = send_on_time;
    return r;
}

std::uint64_t utc_now() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(CaptureFile, TellsWhenItsRecordsCame) {
    const Directory directory;
    const std::string path = directory.file("in.pcap");
    {
        spead::test::PcapWriter file(path);
        for (std::uint32_t i = 0; i < 20; i++)
            file.record(frame(i, 60));
    }
    PortRequest r = request("net_pcap0,rx_pcap=" + path, 1, 0);
    r.timestamps = UseDevice::must;
    auto port = open_port(r);
    ASSERT_NE(port->arrivals(), nullptr);
    EXPECT_EQ(port->capabilities().rx_timestamps, RxTimestamps::microseconds);
    port->start();
    std::array<rte_mbuf*, 32> mbufs{};
    std::uint64_t second = 1;
    while (const std::uint16_t n = port->rx_queue(0).rx_burst(mbufs.data(), 32)) {
        for (std::uint16_t i = 0; i < n; i++)
            EXPECT_EQ(arrival_of(*mbufs[i], *port->arrivals()), second++ * 1'000'000'000);
        mbufs[0]->ol_flags = 0;
        EXPECT_EQ(arrival_of(*mbufs[0], *port->arrivals()), 0U);
        rte_pktmbuf_free_bulk(mbufs.data(), n);
    }
    EXPECT_EQ(second, 21U);
}

TEST(CaptureFile, TellsNothingUnlessAsked) {
    const Directory directory;
    const std::string path = directory.file("in.pcap");
    spead::test::PcapWriter(path).record(frame(0, 60));
    auto port = open_port(request("net_pcap0,rx_pcap=" + path, 1, 0));
    EXPECT_EQ(port->arrivals(), nullptr);
    EXPECT_EQ(port->capabilities().rx_timestamps, RxTimestamps::none);
}

TEST(PortWithoutTimes, IsRefusedOrDoesWithout) {
    EXPECT_THAT(error_of([] { open_port(timed("net_null0", UseDevice::must)); }),
                testing::AllOf(HasSubstr("net_null has no times of arrival"), HasSubstr("net_pcap"),
                               HasSubstr("net_mlx5")));
    EXPECT_THAT(error_of([] { open_port(timed("net_null0", UseDevice::never, UseDevice::must)); }),
                testing::AllOf(HasSubstr("net_null cannot send"), HasSubstr("net_mlx5")));
    auto port = open_port(timed("net_null0", UseDevice::if_it_can, UseDevice::if_it_can));
    EXPECT_EQ(port->arrivals(), nullptr);
    EXPECT_EQ(port->send_times().clock, nullptr);
}

class CardWithTimes : public testing::Test {
  protected:
    std::unique_ptr<Port> open(UseDevice timestamps, UseDevice send_on_time) {
        return Port::open(timed("net_ring0", timestamps, send_on_time), card_table());
    }

    Card card;
    DeviceCallsInstead instead{card};
};

TEST_F(CardWithTimes, IsAskedForNothingByDefault) {
    card.stamps = card.schedules = true;
    auto port = open(UseDevice::never, UseDevice::never);
    EXPECT_EQ(card.rx_asked & RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0U);
    EXPECT_EQ(card.tx_asked & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP, 0U);
    EXPECT_EQ(port->arrivals(), nullptr);
    EXPECT_EQ(port->send_times().clock, nullptr);
    EXPECT_FALSE(port->capabilities().send_on_time);
}

TEST_F(CardWithTimes, HasItsTicksTranslatedAndItsUtcLeftAlone) {
    card.stamps = true;
    auto port = open(UseDevice::if_it_can, UseDevice::never);
    EXPECT_NE(card.rx_asked & RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0U);
    EXPECT_EQ(card.tx_asked & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP, 0U);
    ASSERT_NE(port->arrivals(), nullptr);
    const ArrivalTimes& times = *port->arrivals();
    const Pool pool;
    rte_mbuf* const m = pool.make(frame(0, 60));
    const auto stamped = [&](std::uint64_t time) {
        *RTE_MBUF_DYNFIELD(m, times.offset, rte_mbuf_timestamp_t*) = time;
        m->ol_flags |= times.flag;
        return arrival_of(*m, times);
    };
    EXPECT_EQ(stamped(rte_rdtsc() / 3), 0U) << "the clock is not known before the start";
    const std::uint64_t utc = utc_now();
    EXPECT_EQ(stamped(utc), utc);
    port->start();
    const std::uint64_t before = utc_now();
    const std::uint64_t told = stamped(rte_rdtsc() / 3);
    const std::uint64_t after = utc_now();
    // The rate of 20 ms is right to some 10^-3 on a busy machine; now is right behind the newest sample.
    EXPECT_GT(told, before - 50'000'000);
    EXPECT_LT(told, after + 50'000'000);
    rte_pktmbuf_free(m);
}

TEST_F(CardWithTimes, WhoseClockCannotBeReadSaysSoOnce) {
    card.stamps = card.schedules = true;
    card.has_clock = false;
    {
        auto port = open(UseDevice::must, UseDevice::if_it_can);
        port->start();
        port->poll_link();
        EXPECT_THAT(port->remarks(), testing::ElementsAre(HasSubstr("cannot be read")));
        EXPECT_FALSE(port->send_times().clock->known());
    }
    auto port = open(UseDevice::never, UseDevice::must);
    EXPECT_THAT(error_of([&] { port->start(); }), HasSubstr("clock of net_ring0 cannot be read"));
}

TEST_F(CardWithTimes, LacksAnOffloadThatItsFamilyMayHave) {
    EXPECT_THAT(error_of([&] { open(UseDevice::must, UseDevice::never); }),
                HasSubstr("RX_OFFLOAD_TIMESTAMP"));
    EXPECT_THAT(error_of([&] { open(UseDevice::never, UseDevice::must); }), HasSubstr("ConnectX-6 Dx"));
    auto port = open(UseDevice::if_it_can, UseDevice::if_it_can);
    EXPECT_EQ(port->arrivals(), nullptr);
    EXPECT_EQ(port->send_times().clock, nullptr);
    EXPECT_EQ(card.rx_asked & RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0U);
    EXPECT_EQ(card.tx_asked & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP, 0U);
}

TEST_F(CardWithTimes, IsToldWhenToSend) {
    card.schedules = true;
    auto port = open(UseDevice::never, UseDevice::must);
    EXPECT_NE(card.tx_asked & RTE_ETH_TX_OFFLOAD_SEND_ON_TIMESTAMP, 0U);
    EXPECT_EQ(card.rx_asked & RTE_ETH_RX_OFFLOAD_TIMESTAMP, 0U);
    port->start();
    const SendTimes& times = port->send_times();
    ASSERT_TRUE(times.clock != nullptr && times.clock->known());
    const Pool pool;
    rte_mbuf* const m = pool.make(frame(0, 60));
    const std::uint64_t soon = rte_rdtsc() + 3'000'000;
    send_at(*m, soon, times);
    const auto told = static_cast<double>(*RTE_MBUF_DYNFIELD(m, times.offset, rte_mbuf_timestamp_t*));
    EXPECT_NEAR(told, static_cast<double>(soon) / 3, 1e7);
    EXPECT_NE(m->ol_flags & times.flag, 0U);
    rte_pktmbuf_free(m);
}

}  // namespace
}  // namespace spead::port::test
