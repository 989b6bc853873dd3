// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "port/gate.hpp"
#include "port/port_io.hpp"

struct rte_mempool;

/// The burst functions behind a Port's queues. Internal to lib/port.
///
/// Most queues are one device queue and call the PMD directly. The others need a look before the PMD is
/// asked: queues that merge several device queues, finite sources, and devices that start late (memif); or at
/// what it brought, where that is a peer's word.
namespace spead::port {

/// One device queue that a receive queue reads.
struct RxPart {
    std::uint16_t queue = 0;
    /// Finite sources: records not delivered yet. Written by the lcore, read by anyone.
    std::atomic<std::uint64_t> remaining{0};
    /// Finite sources: the PMD drops a record for which it finds no mbuf, so it is only asked for as many as
    /// the pool can hold; this is how many mbufs one record may take.
    std::uint32_t segments = 1;
    std::atomic<bool> ended_early{false};  ///< the PMD had no more although records remained
};

struct alignas(64) RxState {
    std::uint16_t port_id = 0;
    bool finite = false;
    bool trusts_peer = false;  ///< lengths are looked at: port/lengths.hpp
    std::uint16_t next = 0;    ///< part to ask first, so that none starves
    rte_mempool* pool = nullptr;
    const Gate* gate = nullptr;  ///< to be passed before the PMD is called; null: none
    Gate::Presence* presence = nullptr;
    std::vector<RxPart> parts;
};

struct alignas(64) TxState {
    std::uint16_t port_id = 0;
    std::uint16_t queue = 0;
    const Gate* gate = nullptr;
    Gate::Presence* presence = nullptr;
};

RxQueue bind_rx(RxState& state);
TxQueue bind_tx(TxState& state);

}  // namespace spead::port
