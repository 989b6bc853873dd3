// SPDX-License-Identifier: BSD-3-Clause
// Ports that cut packets into headers, for the CPU, and data, in memory of a device that ends who reads it.
#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <span>
#include <string>

#include <rte_ethdev.h>

#include "gather/cpu_engine.hpp"
#include "gather/fake_engine.hpp"
#include "port/split_sizes.hpp"
#include "tests/eal/port/port_rig.hpp"
#include "tests/eal/port/splitting_card.hpp"
#include "wire/net.hpp"

namespace spead::port::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kCut = 138;

PortRequest split_request(const std::string& device = "net_ring0", std::uint32_t at = kCut) {
    PortRequest r = request(device, 1, 1, 4000);
    r.split = at;
    return r;
}

PlannedPort planned(const PortRequest& r, std::span<const Driver* const> table,
                    const std::shared_ptr<gather::Engine>& engine) {
    PlannedPort p = plan_ports({&r, 1}, table).front();
    p.payload_engine = engine;
    return p;
}

/// Returns the bytes of a packet, those in the engine's memory fetched.
std::vector<std::uint8_t> fetched(gather::FakeEngine& engine, const rte_mbuf* m) {
    std::vector<std::uint8_t> bytes(rte_pktmbuf_mtod(m, const std::uint8_t*),
                                    rte_pktmbuf_mtod(m, const std::uint8_t*) + m->data_len);
    for (m = m->next; m != nullptr; m = m->next) {
        std::vector<std::uint8_t> more(m->data_len);
        engine.fetch(rte_pktmbuf_mtod(m, const std::byte*), std::as_writable_bytes(std::span(more)));
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
}

/// Holds a ring whose packets are cut.
class SplitRing : public testing::Test {
  protected:
    explicit SplitRing(std::uint32_t at = kCut)
        : port_(Port::open(planned(split_request("net_ring0", at), drivers::table(), engine_))) {
        port_->start();
    }
    ~SplitRing() override {
        port_->stop();
        port_->close();
        EXPECT_THAT(port_->remarks(), Not(Contains(HasSubstr("not returned"))));
    }

    const std::shared_ptr<gather::FakeEngine> engine_ = std::make_shared<gather::FakeEngine>();
    std::unique_ptr<Port> port_;
};

TEST_F(SplitRing, CutsEachPacketAfterItsHeader) {
    const Pool pool;
    const RxQueue queue = port_->rx_queue(0);
    EXPECT_TRUE(queue.splits);
    EXPECT_EQ(port_->rx_queue(0).context, queue.context) << "one splitter has the pools";
    for (const std::size_t length : {1UL, 60UL, 137UL, 138UL, 139UL, 500UL, 1514UL}) {
        const auto sent = frame(static_cast<std::uint32_t>(length), length);
        ASSERT_TRUE(send(port_->tx_queue(0), pool.make(sent)));
        rte_mbuf* m = nullptr;
        ASSERT_EQ(queue.rx_burst(&m, 1), 1);
        EXPECT_EQ(m->pkt_len, length);
        EXPECT_EQ(m->data_len, std::min<std::size_t>(length, kCut));
        EXPECT_EQ(m->nb_segs, length <= kCut ? 1 : 2);
        EXPECT_EQ(m->pool, queue.pool);
        EXPECT_EQ(fetched(*engine_, m), sent);
        if (m->next != nullptr) {
            EXPECT_EQ(m->next->data_off, 0) << "only the first segment has headroom";
        }
        rte_pktmbuf_free(m);
    }
}

TEST_F(SplitRing, TakesChainsAndLongFrames) {
    const Pool pool(1023, 9000);
    const RxQueue queue = port_->rx_queue(0);
    for (const std::size_t segment : {1UL, 50UL, 138UL, 200UL, 5000UL}) {
        const auto sent = frame(7, segment < 50 ? 300 : 12'000);
        ASSERT_TRUE(send(port_->tx_queue(0), pool.make_chain(sent, segment)));
        rte_mbuf* m = nullptr;
        ASSERT_EQ(queue.rx_burst(&m, 1), 1);
        EXPECT_EQ(m->data_len, kCut);
        EXPECT_EQ(fetched(*engine_, m), sent);
        rte_pktmbuf_free(m);
    }
    EXPECT_TRUE(pool.full());
}

TEST_F(SplitRing, LeavesPacketsInTheirQueueWhileMbufsAreOut) {
    const Pool pool(2047);
    const RxQueue queue = port_->rx_queue(0);
    std::vector<rte_mbuf*> held;
    std::size_t sent = 0;
    const auto more = [&] {
        for (; sent < 1500 && send(port_->tx_queue(0), pool.make(frame(1, 600))); sent++) {
        }
        std::array<rte_mbuf*, 32> mbufs{};
        const std::uint16_t n = queue.rx_burst(mbufs.data(), mbufs.size());
        held.insert(held.end(), mbufs.begin(), mbufs.begin() + n);
        return n;
    };
    while (more() != 0) {
    }
    EXPECT_LT(held.size(), sent);
    std::size_t came = 0;
    while (!held.empty()) {
        came += held.size();
        for (rte_mbuf* const m : held)
            rte_pktmbuf_free(m);
        held.clear();
        more();
    }
    EXPECT_EQ(came, 1500U) << "none was lost";
    EXPECT_EQ(sent, 1500U);
}

TEST_F(SplitRing, EmptiesPacketsWhoseLengthsAreWrong) {
    const Pool pool;
    rte_mbuf* m = pool.make(frame(1, 600));
    m->pkt_len = 700;
    ASSERT_TRUE(send(port_->tx_queue(0), m));
    ASSERT_EQ(port_->rx_queue(0).rx_burst(&m, 1), 1);
    EXPECT_EQ(m->pkt_len, 0U);
    rte_pktmbuf_free(m);
    EXPECT_TRUE(pool.full());
}

TEST(SplitPort, IsOpenedAgainWithTheSamePlan) {
    const auto engine = std::make_shared<gather::FakeEngine>();
    const PlannedPort plan = planned(split_request(), drivers::table(), engine);
    const Pool pool;
    for (int time = 0; time < 3; time++) {
        const auto port = Port::open(plan);
        port->start();
        const auto sent = frame(5, 600);
        ASSERT_TRUE(send(port->tx_queue(0), pool.make(sent)));
        rte_mbuf* m = nullptr;
        ASSERT_EQ(port->rx_queue(0).rx_burst(&m, 1), 1);
        EXPECT_EQ(fetched(*engine, m), sent) << time;
        rte_pktmbuf_free(m);
        port->stop();
        port->close();
        EXPECT_THAT(port->remarks(), Not(Contains(HasSubstr("not returned")))) << time;
    }
}

TEST(SplitPort, SaysThatItsSplitterIsForTests) {
    for (const char* const device : {"net_ring0", "net_null0"})
        EXPECT_THAT(plan(split_request(device)).remarks,
                    Contains(AllOf(HasSubstr("port p0"), HasSubstr("is for tests"))));
}

TEST(SplitPort, WantsADriverThatCuts) {
    for (const Driver* const driver : drivers::table()) {
        const bool card = driver->declared().splitting == Splitting::card;
        EXPECT_EQ(card, driver->name() == "net_mlx5") << driver->name();
        if (driver->declared().splitting != Splitting::none)
            continue;
        EXPECT_THAT(error_of([&] { check_split(split_request(), *driver, drivers::table()); }),
                    AllOf(HasSubstr("`split` is 138"), HasSubstr(driver->name()),
                          HasSubstr("of the drivers here net_mlx5 can"), HasSubstr("leave out `split`")));
    }
    EXPECT_THAT(error_of([] { plan(split_request("net_ring0", 133)); }),
                AllOf(HasSubstr("`split` is 133"), HasSubstr("give at least 134")));
    PortRequest fragments = split_request();
    fragments.reassembled_datagrams = 16;
    EXPECT_THAT(error_of([&] { plan(fragments); }), HasSubstr("leave out one of the two"));
}

TEST(SplitPort, WantsAnEngineWithMemoryThatItCanWrite) {
    const PortRequest r = split_request();
    EXPECT_THAT(error_of([&] { Port::open(planned(r, drivers::table(), nullptr)); }),
                HasSubstr("no stream of the port has `gather`"));
    const auto cpu = std::make_shared<gather::CpuEngine>();
    EXPECT_THAT(error_of([&] { Port::open(planned(r, drivers::table(), cpu)); }),
                AllOf(HasSubstr("engine cpu"), HasSubstr("no memory of a device")));
}

TEST(SplitSizesTest, CountSegmentsAndAllThatOthersKeep) {
    PortRequest r = split_request();
    QueueSizes rx = queue_sizes(4096, 5000, 9600, 128);
    SplitSizes split = card_split(r, 9022, 32768, rx);
    EXPECT_EQ(rx.descriptors, 8192) << "two segments for each of as many packets";
    EXPECT_GE(rx.mbufs, 4096U + 512U);
    EXPECT_EQ(rx.data_room, 320U) << "138 bytes and headroom, in whole lines";
    EXPECT_EQ(split.payload.mbufs, rx.mbufs);
    EXPECT_GE(split.payload.data_room, 9022U - kCut) << "a frame takes two segments, and not four";
    EXPECT_EQ(split.payload.data_room % 64, 0U);
    const SplitSizes before = split;
    add_mbufs(split, 1000);
    EXPECT_EQ(split.payload.mbufs, before.payload.mbufs + 1000);
    EXPECT_EQ(split.device_bytes(), std::size_t{split.payload.mbufs} * split.payload.data_room);
    rx = queue_sizes(32768, 40000, 9600, 128);
    EXPECT_EQ(card_split(r, 9022, 32768, rx).headers.descriptors, 32768) << "the card's most";
    r.split = 1600;
    EXPECT_THAT(error_of([&] { card_split(r, 1522, 32768, rx); }),
                AllOf(HasSubstr("`split` is 1600"), HasSubstr("at most 1522 bytes")));
}

TEST(SplitByCard, HasTwoSegmentsWithTheDevicesMemoryMappedBefore) {
    const auto engine = std::make_shared<gather::FakeEngine>();
    const SplittingDriver driver;
    const std::array<const Driver*, 1> table{&driver};
    SplittingCard card;
    const DeviceCallsInstead instead(card);
    auto port = Port::open(planned(split_request("net_null0"), table, engine));
    EXPECT_NE(card.offloads & RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT, 0U);
    EXPECT_NE(card.offloads & RTE_ETH_RX_OFFLOAD_SCATTER, 0U);
    EXPECT_THAT(card.lengths, ElementsAre(kCut, 0));
    ASSERT_EQ(card.pools.size(), 2U);
    EXPECT_EQ(card.pools[0], port->rx_pool(0));
    const std::uint32_t flags =
        static_cast<rte_pktmbuf_pool_private*>(rte_mempool_get_priv(card.pools[1]))->flags;
    EXPECT_NE(flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF, 0U);
    rte_mbuf* const m = rte_pktmbuf_alloc(card.pools[1]);
    EXPECT_EQ(m->buf_iova, reinterpret_cast<std::uintptr_t>(m->buf_addr));
    std::array<std::byte, 1> byte{};
    engine->fetch(static_cast<const std::byte*>(m->buf_addr), byte);
    rte_pktmbuf_free(m);
    EXPECT_TRUE(port->rx_queue(0).splits);
    EXPECT_EQ(port->rx_queue(0).pool, port->rx_pool(0));
    port->start();
    port->stop();
    port->close();
    EXPECT_THAT(card.calls, ElementsAre("configure 1 1", "register", "map", "queue", "start", "stop", "close",
                                        "unmap", "unregister"));
}

TEST(SplitByCard, IsRefusedWhereTheDeviceDoesNotOfferIt) {
    const auto engine = std::make_shared<gather::FakeEngine>();
    const SplittingDriver driver;
    const std::array<const Driver*, 1> table{&driver};
    SplittingCard card;
    const DeviceCallsInstead instead(card);
    card.cuts = false;
    EXPECT_THAT(error_of([&] { Port::open(planned(split_request("net_null0"), table, engine)); }),
                AllOf(HasSubstr("net_null0"), HasSubstr("RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT")));
    card.cuts = true;
    card.maps = false;
    EXPECT_THAT(error_of([&] { Port::open(planned(split_request("net_null0"), table, engine)); }),
                AllOf(HasSubstr("in a GPU's memory"), HasSubstr("nvidia-peermem")));
}

}  // namespace
}  // namespace spead::port::test
