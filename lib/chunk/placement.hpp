// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spead::chunk {

/// Computes a number from a packet: (((value >> shift) & mask) - first) / step, or the place of
/// (value >> shift) & mask in a list. The division must leave no remainder, unless `truncate` is set.
struct Term {
    enum class Kind : std::uint8_t {
        item,      ///< the immediate value of an item
        heap,      ///< the heap count
        endpoint,  ///< the number of the stream's endpoint that the packet was sent to: 0 for the first
        constant,  ///< `first` itself
    };
    /// Limits the ids of items: those that some flavour can express.
    static constexpr std::uint64_t kMaxId = (std::uint64_t{1} << 55) - 1;

    Kind kind = Kind::item;
    std::uint64_t id = 0;  ///< of the item; 5..kMaxId
    unsigned shift = 0;    ///< 0..63
    std::uint64_t mask = ~std::uint64_t{0};
    std::uint64_t first = 0;
    std::uint64_t step = 1;  ///< at least 1
    bool truncate = false;   ///< drops the remainder of the division
    /// Holds the allowed values, in the order of their places; empty: the formula.
    std::vector<std::uint64_t> list{};
    bool operator==(const Term&) const = default;
};

/// Describes one dimension of a chunk. The outermost comes first.
struct Axis {
    static constexpr std::size_t kMaxName = 64;

    std::string name;          ///< a letter, then letters, digits and `_`, kMaxName at most; unique
    Term term;                 ///< the number along the axis
    std::uint32_t count = 1;   ///< places along the axis, at least 1; those of its list
    std::uint64_t stride = 0;  ///< bytes from one place to the next; 0: see Placement::strides()
    /// Marks the time axis: its number divided by `count` is the chunk's id, the rest is the place.
    bool is_time = false;
    bool operator==(const Axis&) const = default;
};

/// Describes a value that is stored for each heap, beside the payload. All ones replace a number that the
/// term cannot compute: the value is less than `first`, between two steps, or not in the list.
struct Extra {
    unsigned bytes = 2;  ///< 1, 2, 4 or 8; the value's lowest ones, in the host's byte order
    Term term;
    bool operator==(const Extra&) const = default;
};

/// Says how a heap's payload lies in the chunk: in one piece, or in rows of `bytes` that begin `stride` bytes
/// apart. Rows transpose: the axes' strides then say where the first row begins.
struct Rows {
    std::uint64_t bytes = 0;  ///< 0: in one piece
    std::uint64_t stride = 0;
    bool operator==(const Rows&) const = default;
};

/// Says which packets carry the items of the placement.
enum class Way : std::uint8_t {
    automatic,  ///< the first packets decide
    direct,     ///< every packet: each is placed by itself, without a table of heaps
    tracked,    ///< the first packet of each heap: a window of heaps knows the rest
};

/// Holds the sizes that follow from a placement.
struct Layout {
    std::uint64_t heaps = 0;             ///< of a chunk
    std::uint64_t bytes = 0;             ///< of its payload: up to the last byte that a heap can fill
    std::uint32_t packets_per_heap = 1;  ///< bytes of each heap in `present`: 1 without `packet_bytes`
    std::uint32_t most_parts = 1;        ///< parts that a heap may have in the direct way
    std::uint64_t extra_bytes = 0;       ///< for each heap

    std::uint64_t present_bytes() const noexcept { return heaps * packets_per_heap; }
};

/// Declares where the heaps of a stream go in its chunks. Plain data; control code only.
///
///     heap 5120; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [8192];
///     extra u16: item 0x3102 >> 32
///
///     placement:  statements, separated by `;`
///     statement:  heap BYTES
///                 axis NAME: term [COUNT] | time [NAME]: term [COUNT]    with `by BYTES` for a stride
///                 extra (u8 | u16 | u32 | u64): term
///                 rows BYTES by BYTES
///                 presence packet BYTES | presence heap
///                 direct | tracked | automatic
///                 wrap BITS
///     term:       (item ID | heap | endpoint) [>> N] [& N] [- N] [/ N | // N]
///                 (item ID | heap | endpoint) [>> N] [& N] {N, N, ...}
///                 constant N
///     N, ID:      decimal or 0x hexadecimal, up to 64 bits
///
/// Axes stand outermost first. `/` wants no remainder, `//` drops it. docs/chunks.md has examples.
struct Placement {
    static constexpr std::size_t kMaxAxes = 8;
    static constexpr std::size_t kMaxExtras = 8;
    static constexpr std::size_t kMaxList = 4096;   ///< values of all lists together
    static constexpr std::size_t kMaxText = 65536;  ///< bytes of a text
    static constexpr std::uint64_t kMaxHeaps = std::uint64_t{1} << 28;
    static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
    static constexpr std::uint64_t kMaxPresence = std::uint64_t{1} << 31;  ///< bytes of `present`

    std::uint64_t heap_bytes = 0;  ///< of each heap; others are rejected
    std::vector<Axis> axes;        ///< one of them is the time
    std::vector<Extra> extras;
    Rows rows;
    /// Holds the payload bytes of each packet but a heap's last, for a presence byte per packet; 0: one per
    /// heap. The direct way then learns the packets' size from the first one, kLeastPacket at least.
    std::uint32_t packet_bytes = 0;
    static constexpr std::uint32_t kLeastPacket = 512;
    Way way = Way::automatic;
    /// Holds the width of the counter in the time's item, 1..64. The value wraps after so many bits, or after
    /// fewer if the time's mask leaves fewer. Beyond kMaxWrap bits it does not wrap.
    unsigned wrap_bits = 48;
    static constexpr unsigned kMaxWrap = 56;

    /// Parses the text form. Throws UsageError with the place in the text, the word there and the possible
    /// ones; `where` is the error's where(). The result has passed check().
    static Placement parse(std::string_view text, std::string_view where = {});
    /// Returns the text form; parse() of it gives an equal placement.
    std::string text() const;

    /// Checks everything that can be checked without a buffer: ranges, one time axis, no two heaps (or rows)
    /// overlap. Returns the sizes. Throws UsageError with the sums.
    Layout check(std::string_view where = {}) const;
    /// Returns the bytes from one place to the next, by axis. An axis without a stride begins its places
    /// where all places of the axes within it, and the rows, have room. Only for what check() has passed.
    std::vector<std::uint64_t> strides() const;
    /// Returns the number of the time axis. Only for what check() has passed.
    std::size_t time_axis() const noexcept;
    /// Returns how many bits of the time's value there are, after `shift` and `mask`, before it wraps.
    unsigned time_bits() const noexcept;
    /// Explains the layout in lines for people: each axis with its count and stride, and the sums.
    std::string explain() const;

    bool operator==(const Placement&) const = default;
};

}  // namespace spead::chunk
