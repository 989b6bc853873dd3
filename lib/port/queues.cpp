// SPDX-License-Identifier: BSD-3-Clause
#include "port/queues.hpp"

#include <algorithm>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "port/lengths.hpp"

namespace spead::port {

namespace {

std::uint16_t plain_rx(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t max) {
    return rte_eth_rx_burst(static_cast<const RxState*>(context)->port_id, queue, mbufs, max);
}

std::uint16_t finite_rx(const RxState& state, RxPart& part, rte_mbuf** mbufs, std::uint16_t max) {
    const std::uint64_t remaining = part.remaining.load(std::memory_order_relaxed);
    if (remaining == 0) {
        return 0;
    }
    // The pools of finite sources have no per-lcore caches, so this count is exact and cheap.
    const unsigned room = rte_mempool_avail_count(state.pool) / part.segments;
    const auto asked = static_cast<std::uint16_t>(std::min<std::uint64_t>({max, remaining, room}));
    if (asked == 0) {
        return 0;
    }
    const std::uint16_t n = rte_eth_rx_burst(state.port_id, part.queue, mbufs, asked);
    if (n == 0) {
        // A file that shrank since it was counted; waiting for the rest would last for ever.
        part.ended_early.store(true, std::memory_order_relaxed);
        part.remaining.store(0, std::memory_order_release);
        return 0;
    }
    part.remaining.store(remaining - n, std::memory_order_release);
    return n;
}

std::uint16_t merged_rx(RxState& state, rte_mbuf** mbufs, std::uint16_t max) {
    const auto parts = static_cast<std::uint16_t>(state.parts.size());
    std::uint16_t n = 0;
    for (std::uint16_t k = 0; k < parts && n < max; ++k) {
        RxPart& part = state.parts[static_cast<std::size_t>(state.next + k) % parts];
        const auto space = static_cast<std::uint16_t>(max - n);
        const std::uint16_t got = state.finite
                                      ? finite_rx(state, part, mbufs + n, space)
                                      : rte_eth_rx_burst(state.port_id, part.queue, mbufs + n, space);
        n = static_cast<std::uint16_t>(n + got);
    }
    state.next = static_cast<std::uint16_t>((state.next + 1U) % parts);
    return n;
}

std::uint16_t gated_rx(RxState& state, rte_mbuf** mbufs, std::uint16_t max) {
    if (state.gate == nullptr) {
        return merged_rx(state, mbufs, max);
    }
    if (!state.gate->enter(*state.presence)) {
        return 0;
    }
    const std::uint16_t n = merged_rx(state, mbufs, max);
    Gate::leave(*state.presence);
    return n;
}

std::uint16_t careful_rx(void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t max) {
    auto& state = *static_cast<RxState*>(context);
    const std::uint16_t n = gated_rx(state, mbufs, max);
    if (state.trusts_peer) {
        for (std::uint16_t i = 0; i < n; ++i) {
            if (!lengths_fit(*mbufs[i])) [[unlikely]] {
                make_empty(*mbufs[i]);
            }
        }
    }
    return n;
}

std::uint16_t plain_tx(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count) {
    return rte_eth_tx_burst(static_cast<const TxState*>(context)->port_id, queue, mbufs, count);
}

std::uint16_t gated_tx(void* context, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count) {
    const auto& state = *static_cast<const TxState*>(context);
    if (!state.gate->enter(*state.presence)) {
        return 0;
    }
    const std::uint16_t n = rte_eth_tx_burst(state.port_id, queue, mbufs, count);
    Gate::leave(*state.presence);
    return n;
}

}  // namespace

RxQueue bind_rx(RxState& state) {
    const bool plain =
        state.parts.size() == 1 && !state.finite && !state.trusts_peer && state.gate == nullptr;
    return {plain ? plain_rx : careful_rx, &state, state.parts.front().queue, nullptr, false};
}

TxQueue bind_tx(TxState& state) {
    return {state.gate == nullptr ? plain_tx : gated_tx, nullptr, &state, state.queue};
}

}  // namespace spead::port
