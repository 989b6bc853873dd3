// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

struct rte_mbuf;
struct rte_mempool;

/// Connects an lcore's loop with one queue of a port.
///
/// A real port binds rte_eth_rx_burst and rte_eth_tx_burst (one indirect call per burst). Tests bind a fake
/// that holds sent mbufs back, drops, reorders and duplicates. A queue belongs to exactly one lcore at a
/// time; only that lcore may call it.
namespace spead::port {

/// Calls one receive queue. rx_burst returns 0..max mbufs, which the caller then owns and must free.
struct RxQueue {
    using Burst = std::uint16_t (*)(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t max);

    Burst burst = nullptr;
    void* context = nullptr;
    std::uint16_t queue = 0;
    /// Points to the pool of every single-segment mbuf with its own buffer, in the state of
    /// rte_pktmbuf_alloc; null when packets may be in foreign mbufs (net_ring).
    rte_mempool* pool = nullptr;
    /// Says that packets are cut: only their first segments may be read. The others lie in memory of a
    /// device.
    bool splits = false;

    std::uint16_t rx_burst(rte_mbuf** mbufs, std::uint16_t max) const {
        return burst(context, queue, mbufs, max);
    }
};

/// Returns a queue without packets, for a port that is stopped.
inline RxQueue silent_queue() noexcept {
    return {[](void*, std::uint16_t, rte_mbuf**, std::uint16_t) -> std::uint16_t { return 0; }, nullptr, 0,
            nullptr, false};
}

/// Calls one transmit queue. tx_burst takes ownership of the first n mbufs it returns; the rest stay the
/// caller's.
struct TxQueue {
    using Burst = std::uint16_t (*)(void* context, std::uint16_t queue, rte_mbuf** mbufs,
                                    std::uint16_t count);
    using Reap = void (*)(void* context, std::uint16_t queue);

    Burst burst = nullptr;
    /// Asks the driver to release mbufs that are already on the wire (rte_eth_tx_done_cleanup, or
    /// rte_eth_tx_descriptor_status if that reaps); may be null.
    Reap reap = nullptr;
    void* context = nullptr;
    std::uint16_t queue = 0;

    std::uint16_t tx_burst(rte_mbuf** mbufs, std::uint16_t count) const {
        return burst(context, queue, mbufs, count);
    }
};

}  // namespace spead::port
