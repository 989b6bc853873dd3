// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chunk/heap_map.hpp"
#include "chunk/placement.hpp"
#include "heap/room.hpp"
#include "stats/counters.hpp"

namespace spead::chunk {

/// Describes a heap to a place callback.
struct HeapStart {
    std::uint64_t count = 0;    ///< heap count
    std::uint64_t bytes = 0;    ///< of its payload
    std::uint64_t arrival = 0;  ///< ticks of the lcore's clock
    /// Points to the immediate values of PlaceCallback::items, in that order; -1: the packet has no such
    /// item.
    const std::int64_t* values = nullptr;
    std::uint32_t source = 0;    ///< sender's IPv4 address, host order
    std::uint16_t endpoint = 0;  ///< number of the stream's endpoint that the packet was sent to
};

/// Holds a place callback's answer for a heap. The callback finds the values of these members there.
struct ChunkPlace {
    std::int64_t chunk = -1;       ///< id; negative: the heap is rejected
    std::uint64_t heap = 0;        ///< number of the heap in the chunk
    std::uint64_t offset = 0;      ///< of its first byte in the chunk
    std::byte* extra = nullptr;    ///< room for PlaceCallback::most_extra bytes; the callback writes there
    std::uint64_t extra_at = 0;    ///< where these go in the chunk's extra values
    std::uint64_t extra_size = 0;  ///< how many of them; 0: none
};

/// Is a user's function that says where heaps go. It is called on lcores, with the heaps that began in a
/// batch of packets, and may neither lock, allocate, throw, wait nor make a system call. Answers outside the
/// chunk are refused. There are as many places as starts.
using PlaceFunction = void (*)(void* user, std::span<const HeapStart> starts,
                               std::span<ChunkPlace> places) noexcept;

/// Names a place callback, and what chunks look like.
struct PlaceCallback {
    static constexpr std::size_t kMaxItems = 64;
    static constexpr std::size_t kMaxExtra = 4096;

    PlaceFunction function = nullptr;
    void* user = nullptr;
    std::shared_ptr<void> owner{};       ///< keeps `user` until the callback is not called any more
    std::vector<std::uint64_t> items;    ///< ids; 1 and 2 are the heap count and length
    std::uint64_t heaps = 0;             ///< of a chunk
    std::uint64_t bytes = 0;             ///< of its payload
    std::uint64_t extra_bytes = 0;       ///< of its extra values
    std::uint64_t most_extra = 0;        ///< of them, for a heap, at most kMaxExtra
    std::uint32_t packet_bytes = 0;      ///< payload of a packet but a heap's last, for presence by packet
    std::uint32_t packets_per_heap = 1;  ///< at most
    /// Says that each chunk has sizes of its own (ChunkQueue): those above have no effect. With
    /// `packet_bytes`, ChunkPlace::heap is the number of the heap's first packet.
    bool loose = false;

    /// Returns the sizes of its chunks, for ChunkRing::add(). Throws UsageError for impossible ones; `where`
    /// is the error's where().
    Layout layout(const std::string& where = kWhere) const;
    static constexpr const char* kWhere = "place callback";
};

/// Asks a place callback for the heaps of a batch at once.
class CallbackMap final : public HeapMap {
  public:
    /// Throws UsageError: no function, or a size out of range. `counts` outlives the map. Control code.
    CallbackMap(const PlaceCallback& callback, stats::CallbackCounts& counts);

    PacketOutcome find(const heap::PacketView& view, std::uint16_t endpoint,
                       HeapSpot& spot) noexcept override;
    bool note(const heap::PacketView& view, std::uint16_t endpoint) noexcept override;
    void keep() noexcept override { kept_ = true; }

  private:
    static constexpr std::size_t kBatch = heap::kMaxBatch;

    bool is(std::size_t at, const heap::PacketView& view) const noexcept;
    PacketOutcome answer(std::size_t at, HeapSpot& spot) noexcept;
    void describe(std::size_t at, const heap::PacketView& view, std::uint16_t endpoint) noexcept;
    void ask(std::size_t first, std::size_t count) noexcept;
    std::uint32_t next_step() noexcept;
    PacketOutcome check(std::size_t at, HeapSpot& spot) noexcept;

    PlaceCallback callback_;
    stats::CallbackCounts& counts_;
    std::size_t count_ = 0;           ///< heaps of the batch
    bool asked_ = false;              ///< for them
    bool was_long_ = false;           ///< the last call that was timed
    std::uint32_t untimed_ = 0;       ///< calls since one that was timed, and was not long
    std::uint32_t untimed_most_ = 0;  ///< then the next one is timed
    std::uint64_t steps_ = 1;         ///< state of the generator
    // Of the last find():
    std::size_t last_ = 0;  ///< heap
    PacketOutcome last_outcome_ = PacketOutcome::placed;
    bool kept_ = false;  ///< its answer is still good
    HeapSpot last_spot_;
    // The last one is for a heap that cannot wait for the others.
    std::array<HeapStart, kBatch + 1> starts_;
    std::array<ChunkPlace, kBatch + 1> places_;
    std::vector<std::int64_t> values_;  ///< items of each
    std::vector<std::byte> extras_;     ///< most_extra of each
};

}  // namespace spead::chunk
