// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/fake_io.hpp"

#include <set>

#include "tests/eal/port/port_rig.hpp"

namespace spead::port::test {
namespace {

using spead::test::FakeFaults;
using spead::test::FakeIo;

using Packets = std::vector<std::vector<std::uint8_t>>;

Packets frames(std::uint32_t count) {
    Packets packets;
    for (std::uint32_t i = 1; i <= count; ++i) {
        packets.push_back(frame(i, 60 + i));
    }
    return packets;
}

/// Sends frames 1 to `count` in chains and takes what arrives.
Packets carry(FakeIo& io, const Pool& pool, std::uint32_t count) {
    Packets arrived;
    for (std::uint32_t i = 1; i <= count; ++i) {
        rte_mbuf* packet = pool.make_chain(frame(i, 60 + i), 42);
        EXPECT_EQ(io.tx_queue().tx_burst(&packet, 1), 1);
        for (auto& bytes : receive(io.rx_queue(), 32, 1)) {
            arrived.push_back(std::move(bytes));
        }
    }
    io.settle();
    for (auto& bytes : receive(io.rx_queue(), count, 1)) {
        arrived.push_back(std::move(bytes));
    }
    return arrived;
}

TEST(FakeIo, WithoutFaultsEverythingArrivesInOrderAndNothingIsHeld) {
    const Pool pool;
    const Pool rx_pool;
    FakeIo io(rx_pool.get(), {});
    EXPECT_EQ(carry(io, pool, 50), frames(50));
    EXPECT_TRUE(pool.full());
}

TEST(FakeIo, HoldsTheNewestSegmentsBackUntilMoreAreSent) {
    const Pool pool;
    const Pool rx_pool;
    FakeFaults faults;
    faults.hold_segments = 31;
    FakeIo io(rx_pool.get(), faults);
    EXPECT_EQ(carry(io, pool, 50).size(), 50U);
    EXPECT_EQ(io.held_segments(), 31U);
    EXPECT_EQ(pool.in_use(), 31U);
    io.tx_queue().reap(&io, 0);
    EXPECT_EQ(io.held_segments(), 31U);
    io.release();
    EXPECT_TRUE(pool.full());
}

TEST(FakeIo, TakesOnlyPartOfABurstAndLeavesTheRestToTheCaller) {
    const Pool pool;
    const Pool rx_pool;
    FakeFaults faults;
    faults.most_per_tx_burst = 3;
    faults.most_per_rx_burst = 2;
    FakeIo io(rx_pool.get(), faults);
    std::array<rte_mbuf*, 5> mbufs{};
    for (auto& m : mbufs) {
        m = pool.make(frame(1, 60));
    }
    EXPECT_EQ(io.tx_queue().tx_burst(mbufs.data(), 5), 3);
    EXPECT_EQ(pool.in_use(), 2U);
    rte_pktmbuf_free_bulk(mbufs.data() + 3, 2);
    std::array<rte_mbuf*, 8> received{};
    EXPECT_EQ(io.rx_queue().rx_burst(received.data(), 8), 2);
    rte_pktmbuf_free_bulk(received.data(), 2);
}

TEST(FakeIo, DropsAndDuplicatesWhatItIsTold) {
    const Pool pool;
    const Pool rx_pool;
    FakeFaults faults;
    faults.drop_every = 5;
    faults.duplicate_every = 4;
    FakeIo io(rx_pool.get(), faults);
    const auto arrived = carry(io, pool, 20);
    Packets expected;
    for (std::uint32_t i = 1; i <= 20; ++i) {
        if (i % 5 != 0) {
            expected.insert(expected.end(), i % 4 == 0 ? 2 : 1, frame(i, 60 + i));
        }
    }
    EXPECT_EQ(arrived, expected);
    EXPECT_EQ(io.dropped(), 4U);
    EXPECT_EQ(io.duplicated(), 4U);
}

TEST(FakeIo, ReordersWithinWindowsAndLosesNothing) {
    const Pool pool;
    const Pool rx_pool;
    FakeFaults faults;
    faults.reorder_window = 8;
    FakeIo io(rx_pool.get(), faults);
    auto arrived = carry(io, pool, 60);
    ASSERT_EQ(arrived.size(), 60U);
    EXPECT_NE(arrived, frames(60));
    for (std::uint32_t first = 0; first + 8 <= 60; first += 8) {
        std::set<std::vector<std::uint8_t>> window(arrived.begin() + first, arrived.begin() + first + 8);
        for (std::uint32_t i = first + 1; i <= first + 8; ++i) {
            EXPECT_TRUE(window.contains(frame(i, 60 + i))) << i;
        }
    }
    FakeIo again(rx_pool.get(), faults);
    EXPECT_EQ(carry(again, pool, 60), arrived) << "the same seed must misbehave alike";
}

}  // namespace
}  // namespace spead::port::test
