// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "port/gate.hpp"
#include "port/port_io.hpp"

struct rte_mempool;

/// Implements the burst functions behind a Port's queues. Internal to lib/port.
///
/// Most queues are one device queue and call the PMD directly. Others need a check before the PMD is called:
/// queues that merge several device queues, finite sources, and devices that start late (memif). If a peer
/// writes the lengths, its packets are checked after the call.
namespace spead::port {

/// Holds one device queue that a receive queue reads.
struct RxPart {
    std::uint16_t queue = 0;
    /// Counts the records of a finite source that are not delivered yet. Written by the lcore, read by any
    /// thread.
    std::atomic<std::uint64_t> remaining{0};
    /// Holds how many mbufs one record of a finite source may take. The PMD drops a record without mbufs, so
    /// it is only asked for as many as the pool can hold.
    std::uint32_t segments = 1;
    std::atomic<bool> ended_early{false};  ///< the PMD had no more although records remained
};

struct alignas(64) RxState {
    std::uint16_t port_id = 0;
    bool finite = false;
    bool trusts_peer = false;  ///< lengths are checked: port/lengths.hpp
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
