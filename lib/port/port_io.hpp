// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

struct rte_mbuf;
struct rte_mempool;

/// The seam between an lcore's loop and one queue of a port.
///
/// A real port binds rte_eth_rx_burst and rte_eth_tx_burst (one indirect call per burst); tests bind a fake
/// that holds sent mbufs back, drops, reorders and duplicates. A queue belongs to exactly one lcore at a
/// time; only that lcore may call it.
namespace spead::port {

/// One receive queue. rx_burst returns 0..max mbufs, which the caller then owns and must free.
struct RxQueue {
    using Burst = std::uint16_t (*)(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t max);

    Burst burst = nullptr;
    void* context = nullptr;
    std::uint16_t queue = 0;
    /// Where every single-segment mbuf with its own buffer comes from, as rte_pktmbuf_alloc left it; null
    /// when packets may be somebody else's mbufs (net_ring).
    rte_mempool* pool = nullptr;

    std::uint16_t rx_burst(rte_mbuf** mbufs, std::uint16_t max) const {
        return burst(context, queue, mbufs, max);
    }
};

/// A queue that never brings anything: in the place of one whose port is stopped.
inline RxQueue silent_queue() noexcept {
    return {[](void*, std::uint16_t, rte_mbuf**, std::uint16_t) -> std::uint16_t { return 0; }, nullptr, 0,
            nullptr};
}

/// One transmit queue. tx_burst takes ownership of the first n mbufs it returns; the rest stay the caller's.
struct TxQueue {
    using Burst = std::uint16_t (*)(void* context, std::uint16_t queue, rte_mbuf** mbufs,
                                    std::uint16_t count);
    using Reap = void (*)(void* context, std::uint16_t queue);

    Burst burst = nullptr;
    /// Asks the driver to release mbufs that are already on the wire (rte_eth_tx_done_cleanup, or
    /// rte_eth_tx_descriptor_status where that is what reaps); may be null.
    Reap reap = nullptr;
    void* context = nullptr;
    std::uint16_t queue = 0;

    std::uint16_t tx_burst(rte_mbuf** mbufs, std::uint16_t count) const {
        return burst(context, queue, mbufs, count);
    }
};

}  // namespace spead::port
