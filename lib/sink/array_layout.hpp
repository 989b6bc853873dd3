// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chunk/placement.hpp"

/// Describes the payload of chunks as a part of an array, for sinks whose files say so.
namespace spead::sink {

/// Says what an element of the payload is, in the words of numpy: an order of bytes, a kind, and a size.
struct ElementType {
    char order = '|';  ///< '<' little-endian, '>' big-endian, '|' a single byte
    char kind = 'u';   ///< 'i', 'u' integers; 'f' floating point; 'c' complex
    unsigned bytes = 1;

    /// Parses "u1", "<i2", ">f4", "<c8". Throws UsageError with the possible ones; `where` is its where().
    static ElementType parse(std::string_view text, std::string_view where = {});
    std::string text() const;  ///< "|u1", ">f4"
    /// Returns the bytes of an element that is not there: NaN, of complex numbers in both parts, or 0.
    std::vector<std::byte> fill() const;
    bool operator==(const ElementType&) const = default;
};

/// Describes one axis of the array.
struct ArrayAxis {
    std::string name;
    std::uint64_t count = 1;   ///< places in a chunk
    std::uint64_t stride = 1;  ///< bytes from one place to the next
    bool operator==(const ArrayAxis&) const = default;
};

/// Limits the columns of an array: those of as many shards as there may be.
inline constexpr std::uint32_t kMostColumns = 4096;

/// Says which places of an axis this process writes: those of column `index` of `count`, in an array that has
/// all columns. Each column has the places of a chunk.
struct Column {
    std::string axis{};  ///< empty: there is one column
    std::uint32_t index = 0;
    std::uint32_t count = 1;
    bool operator==(const Column&) const = default;
};

/// Describes the axes of a chunk's payload, the outermost first. They lie without gaps, in C order. Besides
/// the axes of the placement there are `row`, if heaps are cut into rows, and `element`, which is the last.
struct ArrayLayout {
    std::vector<ArrayAxis> axes;
    std::size_t time = 0;  ///< number of the axis that grows
    ElementType type;

    std::uint64_t bytes() const noexcept;  ///< of a chunk
};

/// Returns the layout. Throws UsageError if the places leave gaps, or if elements do not divide heaps or
/// rows. `where`: the error's where().
ArrayLayout array_layout(const chunk::Placement& placement, const ElementType& type, std::string_view where);

/// Returns the column "I/N" of an axis; an empty text is the only one. Throws UsageError.
Column parse_column(const std::string& axis, std::string_view text, std::string_view where = {});

/// Throws UsageError if the column's axis is none of the placement's, is the time, or looks values up in a
/// list.
void check_column(const chunk::Placement& placement, const Column& column, std::string_view where);

}  // namespace spead::sink
