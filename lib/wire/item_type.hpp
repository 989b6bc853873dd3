// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "wire/descriptor.hpp"

/// Resolves descriptors to machine types: the fields of an item's elements, and their arrangement.
namespace spead::wire {

enum class FieldKind : std::uint8_t {
    unsigned_integer,  ///< 1 to 64 bits
    signed_integer,    ///< 1 to 64 bits, two's complement
    floating,          ///< IEEE 754, 32 or 64 bits
    complex,           ///< two floats, real part first: 64 or 128 bits
    boolean,           ///< 1 to 64 bits, true unless all are 0
    character,         ///< one byte
    bytes,             ///< whole bytes, padded with 0 at the end
    text,              ///< UTF-32, padded with 0 at the end
};

/// Describes a field of every element. Fields follow each other without gaps, most significant bit first.
struct Field {
    FieldKind kind;
    bool little_endian;  ///< only of whole bytes; each character and each float by itself
    std::uint64_t bits;
    std::uint64_t offset;  ///< bits before it in the element

    bool operator==(const Field&) const = default;
};

struct ItemType {
    std::vector<std::optional<std::uint64_t>> shape{};  ///< at most one variable dimension
    bool fortran_order = false;                         ///< the first index runs fastest, else the last
    std::vector<Field> fields{};                        ///< at least one
    std::uint64_t element_bits = 0;                     ///< sum of the fields, at least 1

    bool is_variable() const noexcept;
    bool operator==(const ItemType&) const = default;
};

enum class TypeError : std::uint8_t {
    no_format,         ///< neither a format nor a numpy header
    bad_numpy_header,  ///< unreadable
    unsupported_type,  ///< a kind or size of field that is not covered
    several_variable,  ///< more than one variable dimension
    count_
};

std::string_view name_of(TypeError error) noexcept;

/// Resolves a descriptor, which may come from anywhere. With kBugCompatSwapEndian numpy types mean the
/// opposite byte order of what they say.
tl::expected<ItemType, TypeError> item_type(const Descriptor& descriptor, unsigned bug_compat = 0);

/// Returns whether senders may put such an item into a pointer, if it is short enough: of fixed shape, in
/// whole bytes.
bool allows_immediate(const ItemType& type) noexcept;

}  // namespace spead::wire
