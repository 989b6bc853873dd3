// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/outcome.hpp"
#include "chunk/placement.hpp"
#include "heap/packet_view.hpp"

namespace spead::chunk {

/// Says where a heap goes.
struct Place {
    std::uint64_t time = 0;    ///< the time axis's number, before it is unwrapped: chunk id x count + place
    std::uint64_t heap = 0;    ///< number of the heap in the chunk, without its part along the time
    std::uint64_t offset = 0;  ///< bytes from the chunk's first, without the part along the time
};

/// Evaluates a checked placement for packets. Belongs to one lcore; nothing here allocates, throws or waits.
/// Nothing from the wire points outside: each number is compared with its axis's count.
///
/// Items are looked for where the last packet had them, then among all of the packet's. If a packet repeats
/// an item, any of its values may count.
class Placer {
  public:
    /// Takes a placement that has passed Placement::check(). Control code. May throw std::bad_alloc.
    explicit Placer(const Placement& placement);

    const Layout& layout() const noexcept { return layout_; }
    const Placement& placement() const noexcept { return placement_; }

    /// Returns whether the packet has every item that the placement needs, those of extra values included.
    bool has_items(const heap::PacketView& view) noexcept;

    /// Computes the place of the packet's heap. Returns `placed`, or the rejection: no_item, bad_length,
    /// bad_step, out_of_range; if several axes have one, that of the time or else of the outermost. A packet
    /// of unknown heap length has that of the placement, if it fits. `place` is unspecified unless the result
    /// is `placed`.
    PacketOutcome place(const heap::PacketView& view, std::uint16_t endpoint, Place& place) noexcept;

    /// Splits an unwrapped time number, less than 2^63: the chunk's id, and what is added to Place's numbers.
    struct Time {
        std::int64_t id;
        std::uint64_t heap;
        std::uint64_t offset;
        bool is_first() const noexcept { return heap == 0 && offset == 0; }
    };
    Time split(std::uint64_t unwrapped) const noexcept;
    /// Returns how many time numbers there are before the wire's value wraps; 0: they do not wrap, or the
    /// placer unwraps them by itself.
    std::uint64_t wrap() const noexcept { return wrap_; }
    /// Tells the placer a time number near which packets are expected: that of the newest chunk. Needed only
    /// if the step of the time is no power of two. Then it does not divide the range of the wire's value: the
    /// multiples of the step are other values after each wrap.
    void follow(std::uint64_t unwrapped) noexcept;

    /// Writes the extra values of a heap to `to`, which has room for layout().extra_bytes: one after another,
    /// without gaps.
    void write_extras(const heap::PacketView& view, std::uint16_t endpoint, std::byte* to) noexcept;

  private:
    static constexpr std::size_t kMaxSlots = Placement::kMaxAxes + Placement::kMaxExtras;

    /// Divides by a constant: a power of two by a shift, others by a multiplication (rte_reciprocal.h).
    struct Divisor {
        std::uint64_t by = 1;
        std::uint64_t multiplier = 0;
        bool power = true;
        std::uint8_t shift = 0;
        std::uint8_t shift1 = 0;
        std::uint8_t shift2 = 0;

        Divisor() = default;
        explicit Divisor(std::uint64_t divisor);
        std::uint64_t divide(std::uint64_t n) const noexcept;
    };

    /// Remembers an item that the placement needs, and where the last packet had it.
    struct Slot {
        std::uint64_t id = 0;
        std::uint32_t index = 0;
    };

    /// Finds the values of a list: an open-addressing table, at most half full.
    struct Lookup {
        static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
        struct Entry {
            std::uint64_t value = 0;
            std::uint32_t place = kEmpty;
        };
        std::vector<Entry> table;
        unsigned shift = 0;

        Lookup() = default;
        explicit Lookup(const std::vector<std::uint64_t>& list);
        /// Returns the value's place, or kEmpty.
        std::uint32_t find(std::uint64_t value) const noexcept;
    };

    /// Holds the parts of a packet that terms read.
    struct Source {
        const std::uint8_t* items;
        std::uint32_t count;  ///< of items; 0 if the flavour is impossible
        unsigned bits;        ///< of a value
        std::uint64_t immediate;
        std::uint64_t heap;
        std::uint16_t endpoint;

        Source(const heap::PacketView& view, std::uint16_t endpoint) noexcept;
        std::uint64_t word(std::uint32_t index) const noexcept;
        /// Returns the id of an immediate. An address, whose highest bit is 0, gives a number beyond every
        /// id.
        std::uint64_t id(std::uint64_t word) const noexcept { return (word >> bits) - immediate; }
        std::uint64_t value(std::uint64_t word) const noexcept {
            return word & ((std::uint64_t{1} << bits) - 1);
        }
    };

    /// Knows the items that the placement needs.
    struct Items {
        std::array<Slot, kMaxSlots> slots;
        std::uint32_t count = 0;
        std::uint32_t others = 0;      ///< slots from here on belong to extra values alone
        std::uint64_t multiplier = 1;  ///< gives each id a place of its own in `slot_of`
        std::array<std::uint8_t, 256> slot_of{};

        std::uint8_t slot(std::uint64_t id);
        void hash();
        /// Reads an item where the last packet had it. Returns whether it is there.
        bool read(const Source& from, std::uint32_t slot, std::uint64_t& value) const noexcept;
        /// Looks where the packet has the items. Looks at each of its items once. Returns whether all are
        /// there.
        bool locate(const Source& from) noexcept;
    };

    /// Evaluates a term.
    struct Number {
        Term::Kind kind = Term::Kind::constant;
        std::uint8_t slot = 0;
        std::uint8_t shift = 0;
        bool plain = false;  ///< an item, and a step that is a power of two
        bool truncate = false;
        std::uint64_t mask = 0;
        std::uint64_t first = 0;
        std::uint64_t low = 0;  ///< bits that a plain number must not have before the division
        Divisor step;
        Lookup list;

        /// Reads the value, after shift and mask. Returns whether its item is where it was.
        bool read(const Items& items, const Source& from, std::uint64_t& value) const noexcept;
        /// Computes the number from the value. Returns `placed`, bad_step or out_of_range.
        PacketOutcome compute(std::uint64_t value, std::uint64_t& number) const noexcept;
    };

    /// Evaluates an axis other than the time.
    struct Line {
        Number number;
        std::uint64_t count = 1;
        std::uint64_t heaps = 0;  ///< from one place to the next
        std::uint64_t bytes = 0;
    };

    struct TimeLine {
        Number number;
        Divisor count;
        std::uint64_t heaps = 0;
        std::uint64_t bytes = 0;
        std::uint64_t range = 0;  ///< the largest value
        std::uint64_t near = 0;   ///< the unwrapped value that follow() told
        bool wraps = false;

        PacketOutcome compute(std::uint64_t value, std::uint64_t& number) const noexcept;
        PacketOutcome compute_near(std::uint64_t value, std::uint64_t& number) const noexcept;
    };

    Number compile(const Term& term);
    /// Computes the place from the items where the last packet had them. Returns no_item if one is not there.
    PacketOutcome evaluate(const Source& from, Place& place) const noexcept;
    bool evaluate_plain(const heap::PacketView& view, const Source& from, Place& place) const noexcept;

    Placement placement_;
    Layout layout_;
    Items items_;
    TimeLine time_;
    std::vector<Line> lines_;
    std::vector<Number> extras_;
    std::uint64_t wrap_ = 0;
    bool plain_ = false;  ///< the time wraps, and every term of an axis is plain
};

}  // namespace spead::chunk
