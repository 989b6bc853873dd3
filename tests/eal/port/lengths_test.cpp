// SPDX-License-Identifier: BSD-3-Clause
#include "port/lengths.hpp"

#include <rte_ethdev.h>

#include "port/queues.hpp"
#include "tests/eal/port/port_rig.hpp"

/// Tests mbufs out of a receive queue whose lengths come from an untrusted peer.
namespace spead::port {
namespace {

using test::bytes_of;
using test::frame;
using test::open_port;
using test::Pool;
using test::request;

TEST(Lengths, OfWhatPmdsBringFit) {
    const Pool pool;
    for (rte_mbuf* const m :
         {pool.make(frame(1, 60)), pool.make(frame(2, 2048)), pool.make_chain(frame(3, 5000), 999)}) {
        EXPECT_TRUE(lengths_fit(*m));
        rte_pktmbuf_free(m);
    }
}

TEST(Lengths, BeyondTheBufferOrContradictoryDoNotFit) {
    const Pool pool;
    const auto lie = [&](const std::function<void(rte_mbuf&)>& edit) {
        for (rte_mbuf* const m : {pool.make(frame(1, 60)), pool.make_chain(frame(3, 3000), 1000)}) {
            edit(*m);
            EXPECT_FALSE(lengths_fit(*m));
            m->nb_segs = m->next == nullptr ? 1 : 3;
            rte_pktmbuf_free(m);
        }
    };
    lie([](rte_mbuf& m) { m.data_len = 65535; });
    lie([](rte_mbuf& m) {
        m.data_len = static_cast<std::uint16_t>(m.buf_len - m.data_off + 1);
        m.pkt_len = m.data_len;
    });
    lie([](rte_mbuf& m) { m.data_off = 65535; });
    lie([](rte_mbuf& m) { m.pkt_len = 0xFFFFFFFF; });
    lie([](rte_mbuf& m) { m.pkt_len--; });
    lie([](rte_mbuf& m) { m.nb_segs = 2; });
}

/// Passes mbufs through net_ring, which hands them on as they are.
class PeersWord : public testing::Test {
  protected:
    PeersWord() : port_(open_port(request("net_ring0"))) {
        port_->start();
        state_.port_id = port_->port_id();
        state_.trusts_peer = true;
        state_.parts = std::vector<RxPart>(1);
    }
    /// Returns the mbuf as the queue hands it on; the caller frees it.
    rte_mbuf* pass(rte_mbuf* m) {
        EXPECT_TRUE(test::send(port_->tx_queue(0), m));
        rte_mbuf* got = nullptr;
        EXPECT_EQ(bind_rx(state_).rx_burst(&got, 1), 1);
        return got;
    }

    std::unique_ptr<Port> port_;
    RxState state_;
    const Pool pool_;
};

TEST_F(PeersWord, WhatFitsIsLeftAlone) {
    for (const std::size_t segment : {5000U, 700U}) {
        rte_mbuf* const got = pass(pool_.make_chain(frame(7, 2000), segment));
        EXPECT_EQ(bytes_of(got), frame(7, 2000));
        rte_pktmbuf_free(got);
    }
}

TEST_F(PeersWord, WhatDoesNotFitHasNothingLeftInIt) {
    for (const std::size_t segment : {5000U, 700U}) {
        rte_mbuf* const m = pool_.make_chain(frame(7, 2000), segment);
        m->data_len = 60000;
        m->pkt_len = 60000;
        rte_mbuf* const got = pass(m);
        EXPECT_EQ(got->pkt_len, 0U);
        EXPECT_TRUE(bytes_of(got).empty());
        // All of its segments go back: the pool's destructor looks.
        rte_pktmbuf_free(got);
    }
}

}  // namespace
}  // namespace spead::port
