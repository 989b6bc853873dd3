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

/// Values of items: from their bytes to numbers and text, and back.
namespace spead::wire {

/// One field of one element: what FieldKind names, a character and bytes as a string of bytes, text as UTF-8.
using Scalar = std::variant<std::uint64_t, std::int64_t, double, bool, std::complex<double>, std::string>;

/// For people and reports: 12, -3, 0.5, true, (1+2j), text as it is.
std::string to_string(const Scalar& scalar);

enum class ValueError : std::uint8_t {
    too_few_bytes,  ///< decode: the shape needs more than there is
    wrong_shape,    ///< encode: not a shape of this type, or another number of scalars
    wrong_type,     ///< encode: a scalar is not of its field's kind
    out_of_range,   ///< encode: a scalar does not fit its field
    no_immediate,   ///< to_immediate: longer than an immediate
    count_
};

std::string_view name_of(ValueError error) noexcept;

/// A received value: a shaped array of elements that are read out of the item's bytes when asked for, so that
/// it takes no memory in proportion to the data. The bytes given to decode_value must outlive it.
class ItemValue {
  public:
    const ItemType& type() const noexcept { return type_; }
    /// All dimensions, the variable one as the data tells.
    const std::vector<std::uint64_t>& shape() const noexcept { return shape_; }
    /// Product of the shape; 1 for a scalar.
    std::uint64_t elements() const noexcept { return elements_; }

    /// Field `field` < type().fields.size() of the element with row-major index `element` < elements() (the
    /// last index runs fastest, however the data is arranged).
    Scalar get(std::uint64_t element, std::size_t field = 0) const;

    /// A one-dimensional array of characters as one string; empty for any other type.
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

/// Where the element with row-major index `element` stands among the elements as they are stored; no
/// dimension is 0.
std::uint64_t element_position(const ItemType& type, std::span<const std::uint64_t> shape,
                               std::uint64_t element) noexcept;

/// An addressed item. Bytes after the last element are padding. A variable dimension takes what the bytes
/// hold.
tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, std::span<const std::uint8_t> bytes);

/// An immediate, whose bytes stand at the right, padded at the left.
tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, Flavour flavour,
                                                 std::uint64_t immediate);

/// The bytes of an item of this type: `shape` fills in the variable dimension, `scalars` are the fields of
/// all elements in row-major order, field by field. The last byte is padded with 0. An integer is taken for a
/// float or complex, a float for a complex, any integer type for the other if the value fits.
tl::expected<std::vector<std::uint8_t>, ValueError> encode_value(const ItemType& type,
                                                                 std::span<const std::uint64_t> shape,
                                                                 std::span<const Scalar> scalars);

/// The immediate value with these bytes at its right; at most Flavour::address_bytes() of them.
tl::expected<std::uint64_t, ValueError> to_immediate(std::span<const std::uint8_t> bytes, Flavour flavour);

}  // namespace spead::wire
