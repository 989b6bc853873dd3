// SPDX-License-Identifier: BSD-3-Clause
#include "wire/value.hpp"

#include <bit>
#include <limits>

#include <fmt/format.h>

#include "base/byte_order.hpp"
#include "wire/bits.hpp"
#include "wire/utf.hpp"

namespace spead::wire {
namespace {

/// Returns the field as a number; at most 64 bits.
std::uint64_t read_number(const std::uint8_t* bytes, std::uint64_t at, unsigned bits, bool little_endian) {
    const std::uint64_t value = read_bits(bytes, at, bits);
    return little_endian ? byte_swap(value) >> (64 - bits) : value;
}

double read_float(const std::uint8_t* bytes, std::uint64_t at, unsigned bits, bool little_endian) {
    const std::uint64_t value = read_number(bytes, at, bits, little_endian);
    return bits == 32 ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)))
                      : std::bit_cast<double>(value);
}

std::int64_t sign_extend(std::uint64_t value, unsigned bits) {
    return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

/// Returns bytes or UTF-32 characters without the zeros at the end.
std::string read_string(const std::uint8_t* bytes, const Field& field, std::uint64_t at) {
    const std::uint64_t unit = field.kind == FieldKind::text ? 32 : 8;
    std::uint64_t count = field.bits / unit;
    const auto character = [&](std::uint64_t i) {
        return static_cast<std::uint32_t>(
            read_number(bytes, at + i * unit, static_cast<unsigned>(unit), field.little_endian));
    };
    while (count > 0 && character(count - 1) == 0)
        --count;
    std::string out;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (field.kind == FieldKind::text)
            append_utf8(out, character(i));
        else
            out.push_back(static_cast<char>(character(i)));
    }
    return out;
}

Scalar read_field(const std::uint8_t* bytes, const Field& field, std::uint64_t at) {
    const auto bits = static_cast<unsigned>(field.bits);
    switch (field.kind) {
        case FieldKind::unsigned_integer:
            return read_number(bytes, at, bits, field.little_endian);
        case FieldKind::signed_integer:
            return sign_extend(read_number(bytes, at, bits, field.little_endian), bits);
        case FieldKind::floating:
            return read_float(bytes, at, bits, field.little_endian);
        case FieldKind::complex:
            return std::complex<double>(read_float(bytes, at, bits / 2, field.little_endian),
                                        read_float(bytes, at + bits / 2, bits / 2, field.little_endian));
        case FieldKind::boolean:
            return read_bits(bytes, at, bits) != 0;
        case FieldKind::character:
            return std::string(1, static_cast<char>(read_bits(bytes, at, 8)));
        case FieldKind::bytes:
        case FieldKind::text:
            break;
    }
    return read_string(bytes, field, at);
}

/// Returns a * b, or the largest number if that is too big.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t out;
    return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<std::uint64_t>::max() : out;
}

}  // namespace

std::string to_string(const Scalar& scalar) {
    struct Printer {
        std::string operator()(std::uint64_t v) const { return fmt::to_string(v); }
        std::string operator()(std::int64_t v) const { return fmt::to_string(v); }
        std::string operator()(double v) const { return fmt::to_string(v); }
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::complex<double> v) const {
            return fmt::format("({}{:+}j)", v.real(), v.imag());
        }
        std::string operator()(const std::string& v) const { return v; }
    };
    return std::visit(Printer{}, scalar);
}

std::string_view name_of(ValueError error) noexcept {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(ValueError::count_)> names{
        "too_few_bytes", "wrong_shape", "wrong_type", "out_of_range", "no_immediate"};
    const auto index = static_cast<std::size_t>(error);
    return index < names.size() ? names[index] : "unknown";
}

std::uint64_t element_position(const ItemType& type, std::span<const std::uint64_t> shape,
                               std::uint64_t element) noexcept {
    if (!type.fortran_order)
        return element;
    std::uint64_t stride = 1;
    for (const std::uint64_t dimension : shape)
        stride *= dimension;
    std::uint64_t position = 0;
    for (std::size_t i = shape.size(); i > 0; --i) {
        stride /= shape[i - 1];
        position += element % shape[i - 1] * stride;
        element /= shape[i - 1];
    }
    return position;
}

Scalar ItemValue::get(std::uint64_t element, std::size_t field) const {
    const std::uint64_t at = element_position(type_, shape_, element) * type_.element_bits;
    return read_field(bytes().data(), type_.fields[field], at + type_.fields[field].offset);
}

std::string ItemValue::text() const {
    if (shape_.size() != 1 || type_.fields.size() != 1 || type_.fields[0].kind != FieldKind::character)
        return {};
    const auto characters = bytes().first(static_cast<std::size_t>(elements_));
    return {characters.begin(), characters.end()};
}

tl::expected<ItemValue, ValueError> ItemValue::make(const ItemType& type, std::uint64_t available_bytes) {
    const std::uint64_t most = available_bytes * 8 / type.element_bits;
    std::uint64_t known = 1;
    for (const auto& dimension : type.shape)
        known = saturating_product(known, dimension.value_or(1));
    ItemValue out;
    out.type_ = type;
    out.elements_ = known;
    for (const auto& dimension : type.shape) {
        if (!dimension)
            out.elements_ = known == 0 ? 0 : most / known * known;
        out.shape_.push_back(dimension ? *dimension : known == 0 ? 0 : most / known);
    }
    if (out.elements_ > most)
        return tl::unexpected(ValueError::too_few_bytes);
    return out;
}

tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, std::span<const std::uint8_t> bytes) {
    auto out = ItemValue::make(type, bytes.size());
    if (out)
        out->bytes_ = bytes;
    return out;
}

tl::expected<ItemValue, ValueError> decode_value(const ItemType& type, Flavour flavour,
                                                 std::uint64_t immediate) {
    auto out = ItemValue::make(type, flavour.address_bytes());
    if (out) {
        out->immediate_ = true;
        store_be64(out->word_.data(), immediate & flavour.value_mask());
        out->skip_ = static_cast<std::size_t>(8 - (out->elements_ * type.element_bits + 7) / 8);
    }
    return out;
}

}  // namespace spead::wire
