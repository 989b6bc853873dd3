// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spead {

/// Describes a heap that begins to a place callback.
struct HeapStart {
    std::uint64_t count = 0;    ///< heap count
    std::uint64_t bytes = 0;    ///< of its payload
    std::uint64_t arrival = 0;  ///< ticks of the CPU's clock
    /// Points to the immediate values of PlaceCallback::items, in that order; -1: the heap's first packet has
    /// no such item. A later packet that lacks one begins no heap.
    const std::int64_t* values = nullptr;
    std::uint32_t source = 0;    ///< sender's IPv4 address, host order
    std::uint16_t endpoint = 0;  ///< number of the stream's endpoint that the packet was sent to
};

/// Holds the answer for a heap. The callback finds the values of these members there.
struct HeapPlace {
    std::int64_t chunk = -1;       ///< id of the chunk; negative: the heap is rejected
    std::uint64_t heap = 0;        ///< number of the heap in the chunk
    std::uint64_t offset = 0;      ///< of its first byte in the chunk
    std::byte* extra = nullptr;    ///< room for PlaceCallback::most_extra bytes; the callback writes there
    std::uint64_t extra_at = 0;    ///< where these go in Chunk::extra
    std::uint64_t extra_size = 0;  ///< how many of them; 0: none
};

/// Is a function that says where heaps go. An lcore calls it with the heaps that began in a batch of packets;
/// there are as many places as starts. It may neither lock, allocate, throw, wait nor make a system call.
using PlaceFunction = void (*)(void* user, std::span<const HeapStart> starts,
                               std::span<HeapPlace> places) noexcept;

/// Holds what spead2 gives to a place callback for one heap: ten words, by address.
struct PlaceData {
    const std::uint8_t* packet;  ///< null here: the headers are not kept
    std::size_t packet_size;     ///< 0 here
    const std::int64_t* items;   ///< immediate values of PlaceCallback::items; -1: absent
    std::int64_t chunk_id;       ///< out; -1 on entry: the heap is rejected
    /// Gets the number of the heap; where presence is by packet, that of its first packet in Chunk::present.
    std::size_t heap_index;
    std::size_t heap_offset;     ///< out: of its first byte
    std::uint64_t* batch_stats;  ///< PlaceCallback::stats, 0 at the start of each batch
    std::uint8_t* extra;         ///< room for PlaceCallback::most_extra bytes
    std::size_t extra_offset;    ///< out: where these go in Chunk::extra
    std::size_t extra_size;      ///< out: how many of them
};

/// Is a function made for spead2, also by numba or cffi: an lcore calls it for one heap at a time, with the
/// address of a PlaceData and its size.
using PlaceOneFunction = void (*)(void* data, std::size_t size);
using PlaceOneUserFunction = void (*)(void* data, std::size_t size, void* user);

/// Describes chunks that a place callback fills.
struct ChunkSizes {
    std::uint64_t heaps = 0;        ///< that a chunk has room for
    std::uint64_t bytes = 0;        ///< of Chunk::data
    std::uint64_t extra_bytes = 0;  ///< of Chunk::extra, rounded up to a multiple of `heaps`
    /// Holds the bytes of Chunk::present for a heap: 1, or the packets that a heap has at most.
    std::uint32_t packets_per_heap = 1;
    std::uint32_t packet_bytes = 0;  ///< payload of a packet but a heap's last; 0: `packets_per_heap` is 1
    /// Says that each chunk has sizes of its own (ChunkQueue); then only `packet_bytes` matters. If that is
    /// set, presence is by packet, and a heap's number is that of its first packet in `present`.
    bool by_chunk = false;
};

/// Says how the values of a counter become one: those of batches, and those of lcores.
enum class StatKind : std::uint8_t { sum, maximum };

/// Names a user's place callback, in place of a Placement (docs/chunks.md). One of the three functions is
/// set.
struct PlaceCallback {
    PlaceFunction place = nullptr;
    PlaceOneFunction place_one = nullptr;
    PlaceOneUserFunction place_one_with_user = nullptr;
    void* user = nullptr;  ///< for `place` and `place_one_with_user`; of all lcores
    /// Lists the ids of up to 64 items. 1 to 4 are the heap count, the heap length, and the offset and length
    /// of the first packet's payload.
    std::vector<std::uint64_t> items{};
    ChunkSizes chunk{};            ///< as those of the ring
    std::uint64_t most_extra = 0;  ///< bytes of extra values that a heap has at most, up to 4096
    /// Holds the counters of PlaceData::batch_stats. Each lcore has its own; ChunkStream::callback_stats()
    /// joins them.
    std::vector<StatKind> stats{};
};

}  // namespace spead
