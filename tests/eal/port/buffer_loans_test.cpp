// SPDX-License-Identifier: BSD-3-Clause
#include "port/buffer_loans.hpp"

#include <gmock/gmock.h>
#include <thread>

#include "port/port.hpp"
#include "tests/eal/port/port_rig.hpp"

/// Tests receive buffers that outlive the device they came from.
namespace spead::port::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

PlannedPort lending(std::uint32_t buffers, const std::string& device = "net_null0") {
    PortRequest r = request(device);
    r.lent_mbufs = buffers;
    return plan_ports({&r, 1}, drivers::table()).front();
}

/// Takes packets that stay lent.
std::vector<rte_mbuf*> take(Port& port, std::uint16_t count) {
    std::vector<rte_mbuf*> mbufs(count);
    std::uint16_t have = 0;
    while (have < count)
        have = static_cast<std::uint16_t>(
            have + port.rx_queue(0).rx_burst(&mbufs[have], static_cast<std::uint16_t>(count - have)));
    return mbufs;
}

std::size_t pools() {
    std::size_t n = 0;
    rte_mempool_walk(
        [](rte_mempool* pool, void* count) {
            *static_cast<std::size_t*>(count) += std::string(pool->name).starts_with("port_rx_") ? 1 : 0;
        },
        &n);
    return n;
}

TEST(BufferLoans, MakeThePoolsLargerAndAreSharedOut) {
    PortRequest r = request("net_null0");
    const std::uint32_t before = plan(r).rx.mbufs;
    EXPECT_EQ(plan_ports({&r, 1}, drivers::table()).front().loans, nullptr);
    const PlannedPort planned = lending(500);
    EXPECT_EQ(planned.device.rx.mbufs, before + 500);
    ASSERT_NE(planned.loans, nullptr);
    BufferShare one(planned.loans, 300);
    BufferShare two(planned.loans, 300);
    EXPECT_EQ(one.size(), 300U);
    EXPECT_EQ(two.size(), 200U) << "what is left";
    EXPECT_EQ(BufferShare(planned.loans, 1).size(), 0U);
    one.shrink(10);
    two = BufferShare();
    EXPECT_EQ(planned.loans->shared_out(), 10U);
    EXPECT_EQ(BufferShare(planned.loans, 1000).size(), 490U);
    EXPECT_EQ(BufferShare(nullptr, 5).size(), 0U);
}

TEST(BufferLoans, OfAPortWithItsSendersBuffersAreNone) {
    const PlannedPort planned = lending(500, "net_ring0");
    EXPECT_EQ(planned.loans, nullptr);
    EXPECT_THAT(planned.device.remarks,
                ElementsAre(HasSubstr("port p0: received packets are in the buffers of "
                                      "its senders")));
}

TEST(BufferLoans, KeepThePoolOfAClosedPortUntilTheLastBufferIsBack) {
    const std::size_t before = pools();
    const PlannedPort planned = lending(100);
    BufferShare share(planned.loans, 100);
    std::unique_ptr<Port> port = Port::open(planned);
    port->start();
    std::vector<rte_mbuf*> held = take(*port, 50);
    for (std::size_t i = 0; i < held.size(); i++)
        std::memset(rte_pktmbuf_mtod(held[i], void*), static_cast<int>(i), 60);
    port->close();
    EXPECT_THAT(port->remarks(), Each(Not(HasSubstr("not returned")))) << "nothing is missing: it is lent";
    EXPECT_EQ(pools(), before + 1);

    // Another device of the port has a pool of its own, and as many to lend.
    port = Port::open(planned);
    port->start();
    std::vector<rte_mbuf*> more = take(*port, 40);
    EXPECT_NE(more[0]->pool, held[0]->pool);
    for (std::size_t i = 0; i < held.size(); i++)
        for (int b = 0; b < 60; b++)
            ASSERT_EQ(rte_pktmbuf_mtod(held[i], std::uint8_t*)[b], i);
    rte_pktmbuf_free_bulk(more.data(), static_cast<unsigned>(more.size()));
    port->close();
    EXPECT_EQ(pools(), before + 2) << "an lcore might be about to give one back";
    EXPECT_EQ(planned.loans->pools_kept(), 2U);
    planned.loans->sweep();
    EXPECT_EQ(pools(), before + 2);
    planned.loans->sweep();
    EXPECT_EQ(pools(), before + 1) << "that one is whole, and was";

    std::thread([&] {
        rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
        share = BufferShare();
    }).join();
    EXPECT_EQ(pools(), before) << "freed where the last buffer came back";
}

TEST(BufferLoans, LeaveThePoolToThePortWhenNothingIsLent) {
    const std::size_t before = pools();
    const PlannedPort planned = lending(100);
    const std::unique_ptr<Port> port = Port::open(planned);
    { const BufferShare share(planned.loans, 100); }
    port->start();
    port->close();
    EXPECT_EQ(planned.loans->pools_kept(), 0U);
    EXPECT_EQ(pools(), before);
}

TEST(BufferLoans, LeaveAPoolThatLacksBuffersAllocated) {
    const std::size_t before = pools();
    rte_mbuf* lost = nullptr;
    {
        PlannedPort planned = lending(100);
        const std::unique_ptr<Port> port = Port::open(planned);
        BufferShare share(planned.loans, 100);
        port->start();
        lost = take(*port, 1)[0];
        port->close();
        share = BufferShare();
        EXPECT_EQ(planned.loans->pools_kept(), 1U);
    }
    EXPECT_EQ(pools(), before + 1) << "whoever has the buffer may still read it";
    rte_mempool* const pool = lost->pool;
    rte_pktmbuf_free(lost);
    rte_mempool_free(pool);
}

}  // namespace
}  // namespace spead::port::test
