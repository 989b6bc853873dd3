// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "wire/flavour.hpp"
#include "wire/item_type.hpp"

/// Converts values of items from their bytes to numbers and text, and back.
namespace spead::wire {

/// Holds one field of one element, by its FieldKind: a character and bytes as a string of bytes, text as
/// UTF-8.
using Scalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::complex<double>, std::string>;

/// Returns text for people and reports: 12, -3, 0.5, true, (1+2j), text as it is.
std::string to_string(const Scalar& scalar);

enum class ValueError : std::uint8_t {
    too_few_bytes,  ///< decode: the shape needs more bytes than there are
    wrong_shape,    ///< encode: not a shape of this type, or another number of scalars
    wrong_type,     ///< encode: a scalar is not of its field's kind
    out_of_range,   ///< encode: a scalar does not fit its field
    no_immediate,   ///< to_immediate: longer than an immediate
    count_
};

std::string_view name_of(ValueError error) noexcept;

/// Holds a received value: a shaped array of elements. They are read out of the item's bytes on access, so it
/// takes no memory in proportion to the data. The bytes given to decode_value must outlive it.
class ItemValue {
  public:
    const ItemType& type() const noexcept { return type_; }
    /// Returns all dimensions, with the variable one by the data.
    const std::vector<std::uint64_t>& shape() const noexcept { return shape_; }
    /// Returns the product of the shape; 1 for a scalar.
    std::uint64_t elements() const noexcept { return elements_; }

    /// Returns field `field` < type().fields.size() of the element with row-major index `element` <
    /// elements() (the last index runs fastest, however the data is arranged).
    Scalar get(std::uint64_t element, std::size_t field = 0) const;

    /// Returns a one-dimensional array of characters as one string; empty for any other type.
    std::string text() const;

  private:
    friend tl::expected<ItemValue, ValueError> decode_value(const ItemType&, std::span<const std::uint8_t>);
    friend tl::expected<ItemValue, ValueError> decode_value(const ItemType&, Flavour, std::uint64_t);

    static tl::expected<ItemValue, ValueError> make(const ItemType& type, std::uint64_t available_bytes);
    std::span<const std::uint8_t> bytes() const noexcept {
        return immediate_ ? std::span<const std::uint8_t>(word_).subspan(skip_) : bytes_;
    }

    ItemType type_;
    std::vector<std::uint64_t> shape_;
    std::uint64_t elements_ = 0;
    std::span<const std::uint8_t> bytes_;
    bool immediate_ = false;
    std::size_t skip_ = 0;
    std::array<std::uint8_t, 8> word_{};
};

/// Returns the position of the element with row-major index `element` among the stored elements; no dimension
/// is 0.
std::uint64_t element_position(const ItemType& type, std::span<const std::uint64_t> shape,
                               std::uint64_t element) noexcept;

/// Decodes an addressed item. Bytes after the last element are padding. A variable dimension takes as many
/// elements as the bytes hold.
tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, std::span<const std::uint8_t> bytes);

/// Decodes an immediate, whose bytes stand at the right, padded at the left.
tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, Flavour flavour,
                                                 std::uint64_t immediate);

/// Returns the bytes of an item of this type. `shape` fills in the variable dimension, `scalars` are the
/// fields of all elements in row-major order, field by field. The last byte is padded with 0. An integer is
/// accepted for a float or complex, a float for a complex, any integer type for the other if the value fits.
tl::expected<std::vector<std::uint8_t>, ValueError> encode_value(const ItemType& type,
                                                                 std::span<const std::uint64_t> shape,
                                                                 std::span<const Scalar> scalars);

/// Returns the immediate value with these bytes at its right; at most Flavour::address_bytes() of them.
tl::expected<std::uint64_t, ValueError> to_immediate(std::span<const std::uint8_t> bytes, Flavour flavour);

}  // namespace spead::wire
