// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/outcome.hpp"
#include "heap/coverage.hpp"
#include "heap/packet_view.hpp"
#include "heap/tickets.hpp"
#include "memory/arena.hpp"

namespace spead::heap {

/// Holds one heap from its first packet until the consumer gives it back. Records live in a pool of fixed
/// size. The owning lcore writes a record while the heap is live, the consumer reads it while holding the
/// Heap handle. The queue and its way back are the only synchronisation needed.
struct alignas(64) Record {
    static constexpr std::uint32_t kInlineItems = 16;
    static constexpr std::uint32_t kInlineRanges = 8;

    enum Flag : std::uint8_t {
        kItemPastEnd = 1,    ///< an item word points past the heap's last byte; it can never be complete
        kHasItems = 2,       ///< has items of data
        kHasControl = 4,     ///< has stream control
        kRetracted = 8,      ///< only stream control: taken out of the counts, not to be delivered
        kBeganUnsized = 16,  ///< its first packet had no length: its block is larger than it may need
        kDemoted = 32,       ///< its source has made many ghosts
        kDue = 64,     ///< max_live newer heaps have begun, and those that have proved themselves are counted
        kGhost = 128,  ///< given up after a packet or two
    };

    // Touched by every packet.
    std::byte* base;       ///< payload byte 0
    std::uint64_t length;  ///< kUnknownLength until a packet has it
    Coverage coverage;
    std::uint64_t last_arrival;  ///< ticks
    std::uint32_t packets;       ///< placed ones
    std::uint8_t flavour;
    std::uint8_t flags;
    Tickets::Ticket ticket;  ///< of its last payload copy

    // Touched at the start, the end, and when something unusual comes.
    std::uint64_t key;
    std::uint64_t first_arrival;  ///< ticks
    std::uint64_t first_time;     ///< nanoseconds since 1970 by the port, of its packets; 0: unknown
    std::uint64_t last_time;
    std::uint64_t item_extent;  ///< highest address of any item word
    std::uint64_t* items;       ///< item words, big-endian, in order of arrival, no value twice
    std::uint32_t item_count;
    std::uint16_t item_capacity;
    HeapEnd end;             ///< valid once handed over
    std::uint8_t witnesses;  ///< newer heaps with as many packets; from kDue on
    std::uint32_t source;    ///< of the first packet, host order
    std::uint32_t place;     ///< number in the substream's Places
    memory::Block payload;
    memory::Block item_block;   ///< empty while the inline items suffice
    memory::Block range_block;  ///< empty while the inline ranges suffice
    // Only for live heaps.
    std::uint32_t number;       ///< heaps that its window had begun, with it, modulo 2^32
    std::uint32_t visited;      ///< packets at the last check for being idle
    std::uint32_t witness_for;  ///< place + 1 of the heap in doubt that counts it as a witness
    std::uint32_t rival;  ///< number + 1 of the next record that claims the same count, in a circle; 0: none

    std::array<std::uint64_t, kInlineItems> inline_items;
    std::array<Range, kInlineRanges> inline_ranges;

    /// Puts item words and ranges back into the record. Free records have them there, so that a heap's
    /// beginning need not say so.
    void use_inline() noexcept {
        coverage.reset(inline_ranges.data(), kInlineRanges);
        items = inline_items.data();
        item_capacity = kInlineItems;
        item_block = {};
        range_block = {};
    }
    bool is_inline() const noexcept {
        return item_capacity == kInlineItems && coverage.capacity() == kInlineRanges;
    }
    /// Returns how many of the heap's known bytes never came.
    std::uint64_t missing_bytes() const noexcept {
        return (length == kUnknownLength ? coverage.extent() : length) - coverage.received();
    }
    /// Returns an estimate of those packets, if they were like the received ones.
    std::uint64_t missing_packets() const noexcept {
        const std::uint64_t bytes = missing_bytes();
        const std::uint64_t came = std::max<std::uint64_t>(packets, 1);
        const std::uint64_t each = std::max<std::uint64_t>((coverage.received() + came / 2) / came, 1);
        return bytes == 0 ? 0 : std::max<std::uint64_t>((bytes + each / 2) / each, 1);
    }
    bool complete() const noexcept { return coverage.received() == length && (flags & kItemPastEnd) == 0; }
    /// Returns whether there is no hole, whether or not its length is known.
    bool contiguous() const noexcept {
        return coverage.ranges().empty() && (flags & kItemPastEnd) == 0 &&
               (length == kUnknownLength ? item_extent <= coverage.prefix() : coverage.prefix() == length);
    }
};

// Queued heaps keep their records in the second-level cache if these are small; rarely used members go
// elsewhere.
static_assert(sizeof(Record) == 6 * 64);

}  // namespace spead::heap
