// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spead::wire {

/// Declares the packets of a format other than SPEAD: a header of fixed length, then the payload. Each packet
/// is a heap of its own. Its values get the ids of items, and nothing behind the decoder knows the format.
/// Plain data; control code only.
///
///     header 32; little
///     field second: u32 at 0 & 0x3FFFFFFF; field frame: u32 at 4 & 0xFFFFFF
///     field legacy: u8 at 3 >> 6 & 1
///     require legacy = 0
///     item 0x1600: second * 25600 + frame
///     count second * 16777216 + frame
///
///     format:     [NAME] statements, separated by `;`. NAME is a known format (wire/known_formats.hpp). The
///                 statements after it extend it, or replace its own
///     statement:  header BYTES                       the payload begins here
///                 prefix BYTES                       before the header, to be ignored
///                 little | big                       byte order; big if there is neither
///                 field NAME: (u8 | u16 | u32 | u64) at BYTE [little | big] [>> N] [& N]
///                 item ID: sum                       a value, as an item of the heap
///                 count sum                          the heap count; no two packets of a stream share one
///                 require NAME = N {, N}             others are malformed
///                 invalid NAME = N {, N}             the sender marks its data as invalid
///                 refuse spead                       what begins as SPEAD packets do is malformed
///                 payload rest                       up to the datagram's end; the default
///                 payload NAME [* N] [- N]           so many bytes, at the header's end
///     sum:        term {+ term}
///     term:       NAME [- N] [/ N | // N] [* N]      `/` wants no remainder, `//` drops it
///     N, ID:      decimal or 0x hexadecimal, up to 64 bits
struct PacketFormat {
    static constexpr std::size_t kLeastHeader = 8;
    static constexpr std::size_t kMostHeader = 1024;  ///< with the prefix
    static constexpr std::size_t kMaxFields = 24;
    static constexpr std::size_t kMaxItems = 16;
    static constexpr std::size_t kMaxTerms = 8;  ///< of a sum
    static constexpr std::size_t kMaxConditions = 16;
    static constexpr std::size_t kMaxValues = 16;  ///< of a condition
    static constexpr std::size_t kMaxName = 64;
    static constexpr std::size_t kMaxText = 16384;
    /// Holds the flavour of the items: SPEAD-64-48.
    static constexpr unsigned kAddressBits = 48;
    static constexpr std::uint64_t kMaxValue = (std::uint64_t{1} << kAddressBits) - 1;
    static constexpr std::uint64_t kLeastId = 7;  ///< those below have a meaning in SPEAD
    static constexpr std::uint64_t kMaxId = (std::uint64_t{1} << (63 - kAddressBits)) - 1;
    static constexpr std::uint64_t kMaxCount = (std::uint64_t{1} << 63) - 1;
    static constexpr std::uint64_t kMaxPayload = 65535;

    struct Field {
        std::string name;     ///< a letter, then letters, digits and `_`; unique
        std::size_t at = 0;   ///< its first byte, from the header's first
        unsigned bytes = 4;   ///< 1, 2, 4 or 8
        bool little = false;  ///< byte order
        unsigned shift = 0;   ///< 0..63
        std::uint64_t mask = ~std::uint64_t{0};
        bool operator==(const Field&) const = default;

        /// Returns the largest value that it can have.
        std::uint64_t most() const noexcept;
    };
    /// Computes ((field - first) / step) * times.
    struct Term {
        std::size_t field = 0;  ///< its place in `fields`
        std::uint64_t first = 0;
        std::uint64_t step = 1;  ///< at least 1
        bool truncate = false;   ///< drops the remainder of the division
        std::uint64_t times = 1;
        bool operator==(const Term&) const = default;
    };
    using Sum = std::vector<Term>;
    struct Item {
        std::uint64_t id = 0;
        Sum value;
        bool operator==(const Item&) const = default;
    };
    struct Condition {
        std::size_t field = 0;
        std::vector<std::uint64_t> values;
        bool operator==(const Condition&) const = default;
    };
    /// Computes the payload's bytes: field * times - less.
    struct Length {
        std::size_t field = 0;
        std::uint64_t times = 1;
        std::uint64_t less = 0;
        bool operator==(const Length&) const = default;
    };

    std::size_t header = 0;
    std::size_t prefix = 0;
    std::vector<Field> fields;
    std::vector<Item> items;
    Sum count;
    std::vector<Condition> required;
    std::vector<Condition> invalid;
    std::optional<Length> length;  ///< none: the rest of the datagram
    bool refuses_spead = false;    ///< datagrams that begin as SPEAD packets do are malformed

    /// Parses the text form. Throws UsageError with the place in the text, the word there and the possible
    /// ones; `where` is the error's where(). The result has passed check().
    static PacketFormat parse(std::string_view text, std::string_view where = {});
    /// Checks ranges: fields lie in the header, and no sum can exceed its limit. Throws UsageError.
    void check(std::string_view where = {}) const;

    bool operator==(const PacketFormat&) const = default;
};

}  // namespace spead::wire
