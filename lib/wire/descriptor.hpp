// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "wire/flavour.hpp"

/// Encodes and decodes item descriptors. One is the value of an item with id 5: a SPEAD packet of its own,
/// whose items are the parts of the descriptor (SPEAD specification, "Item descriptors").
namespace spead::wire {

/// Names deviations of old software, to be combined with |.
inline constexpr unsigned kBugCompatDescriptorWidths = 1;  ///< format fields of 4 bytes, dimensions of 8
inline constexpr unsigned kBugCompatShapeBit1 = 2;   ///< bit 1, not 0, says that a dimension is variable
inline constexpr unsigned kBugCompatSwapEndian = 4;  ///< numpy types name the opposite byte order
inline constexpr unsigned kBugCompatPySpead052 = 7;  ///< all that PySPEAD 0.5.2 does

/// Describes one field of an element.
struct FieldFormat {
    char type;           ///< u unsigned, i signed, f IEEE 754, b boolean, c character; others may arrive
    std::uint64_t bits;  ///< any number may arrive

    bool operator==(const FieldFormat&) const = default;
};

struct Descriptor {
    std::uint64_t id = 0;
    std::string name{}, description{};                  ///< any bytes; ASCII by convention
    std::vector<std::optional<std::uint64_t>> shape{};  ///< nullopt: variable
    std::vector<FieldFormat> format{};
    std::string numpy_header{};  ///< if not empty it replaces shape and format

    bool operator==(const Descriptor&) const = default;
};

enum class DescriptorError : std::uint8_t {
    not_a_packet,       ///< decode: the value does not start with a SPEAD packet
    incomplete,         ///< decode: the packet is not its whole heap
    item_past_end,      ///< decode: an item pointer points out of the packet
    no_id,              ///< decode: no immediate id, or 0
    bad_id,             ///< encode: 0, or too big for a pointer's id or value in this flavour
    format_too_big,     ///< encode: a number of bits does not fit its field in this flavour
    dimension_too_big,  ///< encode: the same of a dimension
    too_long,           ///< encode: longer than this flavour can address
    count_
};

std::string_view name_of(DescriptorError error) noexcept;

/// Returns the bytes of item 5 for this descriptor: pointers CNT (1), LENGTH, OFFSET, PAYLOAD_LENGTH, ID,
/// NAME, DESCRIPTION, FORMAT, SHAPE and, with a numpy header, DTYPE, then their bytes in that order.
tl::expected<std::vector<std::uint8_t>, DescriptorError> encode_descriptor(const Descriptor& descriptor,
                                                                           Flavour flavour,
                                                                           unsigned bug_compat = 0);

/// Reads the bytes of an item 5, which may be anything. The flavour is that of the packet inside. Bytes after
/// it and unknown items are ignored. With a numpy header, shape and format are empty. Memory is in proportion
/// to `value`.
tl::expected<Descriptor, DescriptorError> decode_descriptor(std::span<const std::uint8_t> value,
                                                            unsigned bug_compat = 0);

}  // namespace spead::wire
