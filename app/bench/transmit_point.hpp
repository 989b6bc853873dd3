// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "app/bench/bench_options.hpp"
#include "send/sender.hpp"

namespace spead::app {

/// Holds a combination of `bench transmit`.
struct TransmitPoint {
    /// Holds the payload memory that few heaps are scattered over: more than caches hold, as in a correlator
    /// or digitiser.
    static constexpr std::uint64_t kScatter = std::uint64_t{256} << 20;

    std::uint32_t payload = 0;
    std::uint64_t heap = 0;      ///< bytes; = payload: one packet per heap
    std::uint64_t heap_set = 0;  ///< bytes of heaps; 0: twice as many as can be in flight, scattered
    std::uint32_t group = 1;     ///< heaps that are submitted together, and interleaved
    Reuse reuse = Reuse::fifo;

    /// Returns the packet size for packets with that payload. The item pointer of a heap's first packet takes
    /// 8 bytes of it unless the heap is that one packet.
    std::uint32_t packet_size() const;
    std::uint32_t heaps_in_flight() const;
    /// Returns how many heaps rotate: those in flight and at least as many that wait, as in a program that
    /// fills one buffer while the other is sent.
    std::size_t heaps() const;
    /// Returns how far apart heaps are in memory.
    std::size_t step() const;
    /// Returns the bytes of payload memory.
    std::size_t memory() const;
    /// Returns the bytes at the begin of that memory that a bare loop goes through: as many as the heaps
    /// have.
    std::size_t bare_memory() const;
};

/// Returns every combination of the options' lists.
std::vector<TransmitPoint> transmit_points(const BenchOptions& options);

/// Returns the sender's configuration, without its port.
send::SenderConfig transmit_config(const BenchOptions& options, const TransmitPoint& point);

}  // namespace spead::app
