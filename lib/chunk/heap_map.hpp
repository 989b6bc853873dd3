// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/outcome.hpp"
#include "heap/packet_view.hpp"

namespace spead::chunk {

/// Says where a heap goes, by the chunk's id.
struct HeapSpot {
    struct Where {
        std::int64_t id = 0;             ///< of the chunk; far below 0: before all chunks
        std::uint64_t heap = 0;          ///< number of the heap in the chunk
        std::uint64_t offset = 0;        ///< of its first byte in the chunk
        std::uint64_t extra_offset = 0;  ///< of its extra values in the chunk's
    };
    Where at;
    Where anew;                        ///< if the window begins anew: without the wraps before
    std::uint64_t length = 0;          ///< bytes of the heap
    std::span<const std::byte> extra;  ///< extra values; valid until the next find()
    /// Holds the parts of the heap, of which `heap` is the first one's number; 0: those of the chunk's heaps.
    std::uint64_t parts = 0;
    bool begins = true;         ///< its time is the first one of `at`'s chunk, or unknown
    bool was_before = false;    ///< heaps with its place came for a chunk before, if `at`'s is not open
    bool has_own_place = true;  ///< no other sender's heaps have the same one
};

/// Finds the spots of heaps from the packets that tell: a declared placement, or a user's callback. All
/// answers are within the chunk's layout, if all chunks have one. Belongs to one lcore; no function
/// allocates, locks, throws or waits.
class HeapMap {
  public:
    /// Returns `placed`, or why the heap has no spot.
    virtual PacketOutcome find(const heap::PacketView& view, std::uint16_t endpoint,
                               HeapSpot& spot) noexcept = 0;
    /// Notes a heap for which find() is going to be called, so that the map can find several at once. Returns
    /// false when find() is to be called now.
    virtual bool note(const heap::PacketView& view, std::uint16_t endpoint) noexcept = 0;

    /// Says that the heap of the last find() has to wait: find() will be called for it again.
    virtual void keep() noexcept {}

  protected:
    HeapMap() = default;
    HeapMap(const HeapMap&) = default;
    HeapMap& operator=(const HeapMap&) = default;
    ~HeapMap() = default;
};

}  // namespace spead::chunk
