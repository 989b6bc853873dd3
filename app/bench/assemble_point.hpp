// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "app/bench/prebuilt_queue.hpp"
#include "memory/stores_rule.hpp"

struct rte_mbuf;

namespace spead::app {

inline constexpr std::uint32_t kAssembleGroup = 0xEF0A0A00;   // 239.10.10.0
inline constexpr std::uint32_t kAssembleCopies = 0xEF810A00;  // 239.129.10.0: of the second path
inline constexpr std::uint16_t kAssemblePort = 7148;

/// Says in which order the consumer of `bench assemble` gives heaps back.
enum class Reuse : std::uint8_t {
    fifo,  ///< the oldest first, so that heaps rotate through the whole set
    lifo,  ///< each at once, so that the next heap takes its memory
};

/// Says who reads each heap of `bench assemble`.
enum class Reader : std::uint8_t {
    none,   ///< nobody, as if a device fetched it
    same,   ///< the lcore itself
    other,  ///< another lcore
};

/// Holds a combination of `bench assemble`.
struct AssemblePoint {
    static constexpr std::uint32_t kItems = 5;  ///< item pointers: the four specials and one item

    std::uint32_t payload;
    std::uint64_t heap;        ///< bytes
    std::uint64_t packet_set;  ///< bytes of packet buffers, requested
    std::uint64_t heap_set;    ///< bytes of heaps that rotate, requested
    std::uint32_t streams;
    std::uint32_t live;  ///< heaps whose packets are interleaved, per stream
    Reuse reuse = Reuse::fifo;
    Reader reader = Reader::none;
    memory::CopySetting copy = memory::CopySetting::automatic;
    std::uint32_t descriptors = 0;  ///< mbufs that carry the packets by turns; 0: each has its own
    bool lend = false;              ///< heaps refer to the packets instead of copying them
    bool two_paths = false;         ///< a second queue brings a copy of each burst after it
    bool silent_path = false;       ///< with two_paths: it brings nothing

    std::uint64_t packets_per_heap() const { return (heap + payload - 1) / payload; }
    PrebuiltSizes sizes() const { return {kItems, payload}; }
    std::uint32_t packet_bytes() const { return descriptors == 0 ? sizes().element : sizes().frame; }
    std::uint64_t mbufs() const { return descriptors == 0 ? packets() : descriptors; }
    /// Returns the packets of one pass: they fill their set, and every heap is whole.
    std::uint64_t packets() const;
};

/// Builds packet i of a pass for stream s to group `first_group` + s: the group of heaps that is open
/// together sends packet k of each in turn.
void build_assemble_packet(const AssemblePoint& point, std::uint64_t i, rte_mbuf& mbuf,
                           std::uint32_t first_group = kAssembleGroup);

}  // namespace spead::app
