// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "app/bench/bench_options.hpp"
#include "app/bench/format_packets.hpp"
#include "app/bench/prebuilt_queue.hpp"
#include "base/heap_pattern.hpp"
#include "chunk/callback.hpp"
#include "chunk/placement.hpp"
#include "memory/stores_rule.hpp"

struct rte_mbuf;

namespace spead::app {

/// Holds the chunks that a pass of `bench chunks` fills.
inline constexpr std::uint64_t kPassChunks = 8;
inline constexpr std::uint32_t kChunkGroup = 0xEF0A0A00;  // 239.10.10.0
inline constexpr std::uint16_t kChunkPort = 7148;

/// Holds a pattern of `bench chunks`, scaled to the set.
struct ChunkPoint {
    ChunkPoint(HeapPattern p, std::uint64_t set_bytes, BenchWay bench_way);

    std::uint64_t packets_per_heap() const { return heap / packet; }
    std::uint64_t packets() const { return times * width * packets_per_heap(); }
    /// Returns which heap of a pass packet i belongs to. The heaps of one time are sent together, a packet of
    /// each in turn.
    std::uint64_t heap_of(std::uint64_t i) const {
        return i / (width * packets_per_heap()) * width + i % width;
    }
    /// Returns where in its heap the payload of packet i of a pass begins.
    std::uint64_t offset_of(std::uint64_t i) const {
        return i % (width * packets_per_heap()) / width * packet;
    }
    PrebuiltSizes sizes() const { return {4 + items, packet}; }
    PatternHeap heap_at(std::uint64_t time, std::uint64_t place) const;
    std::string placement() const;
    /// Makes the packets those of a known format. Only for heaps of one packet. Throws UsageError.
    void use_format(const std::string& name);
    /// Returns the declaration of the packets' format. Without a known one, it reads packets of SPEAD as if
    /// they were not SPEAD. Only for heaps of one packet.
    std::string format() const;
    /// Returns the number of a heap in its chunk.
    std::uint64_t number_of(const PatternHeap& heap) const;

    HeapPattern pattern;
    BenchWay way;
    std::uint64_t set;
    std::uint64_t heap;    ///< bytes
    std::uint32_t packet;  ///< bytes of payload
    std::uint32_t items;   ///< item pointers besides the specials; their room, with a known format
    std::optional<FormatPackets> known{};  ///< none: packets of SPEAD
    std::uint64_t width;                   ///< heaps of one time
    std::uint64_t times;  ///< of a pass, a power of two: then the timestamps of the passes follow each other
    std::uint64_t step;   ///< of the timestamp, a power of two for the same reason
    std::uint64_t chunk_times;
    memory::CopySetting copy = memory::CopySetting::automatic;
};

/// Builds packet i of a pass.
void build_chunk_packet(const ChunkPoint& point, std::uint64_t i, rte_mbuf& mbuf);

/// Is a user's function that places heaps as the placement of a point does. Chunk ids never wrap: `passes`
/// counts those that the timestamps cannot.
struct PlaceByFunction {
    const ChunkPoint& point;
    std::uint64_t passes = 0;

    chunk::PlaceCallback callback(const chunk::Layout& layout);
    /// Returns the number of the heap's sender or range of channels.
    std::uint64_t place_of(const std::int64_t* values) const;
    static void place(void* user, std::span<const chunk::HeapStart> starts,
                      std::span<chunk::ChunkPlace> places) noexcept;
};

}  // namespace spead::app
