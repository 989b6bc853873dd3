// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/byte_order.hpp"
#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"
#include "heap/packet_view.hpp"

namespace spead::chunk {

/// Places packets that go on like the one before: into the same chunk, with the items in the same places. Any
/// other packet is left to the lane, which places it and lets the run begin anew. So a run never decides a
/// refusal.
///
/// Serves the direct way of placements whose numbers need shifts and masks only: items or constants, steps
/// that are powers of two, no lists, no rows. Belongs to one lcore; nothing allocates, throws or waits.
class DirectRun {
  public:
    /// Serves no placement: never begins.
    DirectRun() = default;
    /// Takes a placement that has passed Placement::check(). Control code.
    explicit DirectRun(const Placement& placement);

    /// Returns whether it can begin at all.
    bool serves() const noexcept { return serves_; }

    /// Says where a packet was placed.
    struct Start {
        Chunk* chunk;
        Chunk::Share* share;           ///< the member's own
        std::uint64_t token;           ///< of the member's slots; 0: they may change without notice
        std::uint64_t time_heap;       ///< number of its heap in the chunk, the part along the time
        std::uint32_t part_bytes;      ///< payload of a packet but a heap's last
        std::uint32_t parts_per_heap;  ///< by part_bytes
    };
    /// Begins with the packet that was placed. Does nothing if it has not all items of the placement.
    void begin(const heap::PacketView& view, const Start& start) noexcept;
    void end() noexcept { token_ = 0; }
    /// Returns whether the slots are those that it began with.
    bool goes_on(std::uint64_t token) const noexcept { return token == token_ && token != 0; }

    /// Places a packet while goes_on(). Returns the address of its chunk's first byte, and sets the offset of
    /// its payload. Null: nothing was done.
    [[gnu::always_inline]] std::byte* const* next(const heap::PacketView& view,
                                                  std::uint64_t& offset) noexcept {
        if (view.item_count != item_count_ || view.flavour != flavour_ || view.heap_length != heap_bytes_ ||
            (view.flags & heap::PacketView::kControl) != 0) [[unlikely]]
            return nullptr;
        std::uint64_t heap = first_heap_;
        std::uint64_t at = first_offset_;
        for (std::uint32_t i = 0; i < line_count_; i++) {
            const Line& line = lines_[i];
            const std::uint64_t word = load_be64(view.items + line.item.at);
            const std::uint64_t n = line.item.number(word) - line.start;
            if (((word ^ line.item.id) & id_mask_) != 0 || n > line.last) [[unlikely]]
                return nullptr;
            heap += n * line.heaps;
            at += n * line.bytes;
        }
        // A division by multiplication: exact for multiples of the divisor, and others are refused.
        const auto part = static_cast<std::uint64_t>((Wide{view.offset} * reciprocal_) >> 64);
        const std::uint64_t begin = part * part_bytes_;
        const std::uint64_t left = heap_bytes_ - begin;
        if (part >= parts_per_heap_ || begin != view.offset ||
            view.payload_length != (left < part_bytes_ ? left : part_bytes_)) [[unlikely]]
            return nullptr;
        for (std::uint32_t i = 0; i < extra_count_; i++) {
            const Value& extra = extras_[i];
            if (((load_be64(view.items + extra.item.at) ^ extra.item.id) & id_mask_) != 0) [[unlikely]]
                return nullptr;
        }
        const std::atomic_ref here(parts_[heap * parts_per_heap_ + part]);
        if (here.load(std::memory_order_relaxed) != 0) [[unlikely]]
            return nullptr;
        here.store(1, std::memory_order_relaxed);
        if (part == 0 && extra_count_ != 0)
            store_extras(view.items, heap);
        share_->parts++;
        share_->packets++;
        share_->bytes += view.payload_length;
        share_->last = view.arrival;
        offset = at + begin;
        return base_;
    }

  private:
    __extension__ using Wide = unsigned __int128;

    /// Reads an item as a number, in steps. A number that is less than `first`, or between two steps, becomes
    /// one beyond every limit.
    struct Item {
        std::uint64_t id = 0;    ///< mode and id, as they stand in the word
        std::uint64_t mask = 0;  ///< after the shift
        std::uint64_t first = 0;
        std::uint16_t at = 0;  ///< bytes from the first item
        std::uint8_t shift = 0;
        std::uint8_t step_shift = 0;

        std::uint64_t number(std::uint64_t word) const noexcept {
            return std::rotr(((word >> shift) & mask) - first, step_shift);
        }
    };
    /// Evaluates an axis.
    struct alignas(64) Line {
        Item item;
        std::uint64_t start = 0;  ///< number of the first place: that of the chunk's first time, else 0
        std::uint64_t last = 0;   ///< of the places, after `start`
        std::uint64_t heaps = 0;  ///< from one place to the next
        std::uint64_t bytes = 0;
    };
    struct Value {
        Item item;
        std::uint64_t low = 0;  ///< bits that the number must not have before the division
        std::uint8_t bytes = 0;
    };

    /// Holds what an item is made from, for the flavour of the packets.
    struct Origin {
        std::uint64_t id = 0;
        std::uint64_t mask = 0;
    };

    static bool compile(const Term& term, Item& item, Origin& origin) noexcept;
    static bool locate(const heap::PacketView& view, const Origin& origin, Item& item) noexcept;

    /// Stores the extra values of a heap, whose packets several lcores may have.
    void store_extras(const std::uint8_t* items, std::uint64_t heap) noexcept {
        std::byte* to = extra_ + heap * extra_bytes_;
        for (std::uint32_t i = 0; i < extra_count_; i++) {
            const Value& extra = extras_[i];
            const Item& item = extra.item;
            const std::uint64_t value = (load_be64(items + item.at) >> item.shift) & item.mask;
            const std::uint64_t n = value - item.first;
            std::uint64_t stored = n >> item.step_shift;
            if (value < item.first || (n & extra.low) != 0) [[unlikely]]
                stored = ~std::uint64_t{0};
            for (std::uint8_t left = extra.bytes; left != 0; left--, stored >>= 8)
                std::atomic_ref(*to++).store(static_cast<std::byte>(stored), std::memory_order_relaxed);
        }
    }

    // Of the run:
    std::uint64_t token_ = 0;
    std::byte* const* base_ = nullptr;
    std::uint8_t* parts_ = nullptr;
    Chunk::Share* share_ = nullptr;
    std::byte* extra_ = nullptr;
    std::uint64_t id_mask_ = 0;     ///< mode and id of a word
    std::uint64_t reciprocal_ = 0;  ///< 2^64 / part_bytes_, rounded up
    std::uint32_t part_bytes_ = 0;
    std::uint32_t parts_per_heap_ = 0;
    std::uint32_t item_count_ = 0;
    std::uint8_t flavour_ = 0;
    bool serves_ = false;
    // Of the placement:
    std::uint8_t line_count_ = 0;  ///< the time is the first one
    std::uint8_t extra_count_ = 0;
    std::uint64_t heap_bytes_ = 0;
    std::uint64_t first_heap_ = 0;    ///< of the axes that are constants
    std::uint64_t first_offset_ = 0;  ///< likewise
    std::uint64_t extra_bytes_ = 0;   ///< of a heap
    std::array<Line, Placement::kMaxAxes> lines_;
    std::array<Value, Placement::kMaxExtras> extras_;
    std::array<Origin, Placement::kMaxAxes> line_origins_;
    std::array<Origin, Placement::kMaxExtras> extra_origins_;
    std::uint64_t times_ = 0;      ///< of a chunk
    std::uint64_t last_time_ = 0;  ///< before the wire's value wraps
};

}  // namespace spead::chunk
