// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "base/byte_order.hpp"
#include "wire/bits.hpp"
#include "wire/utf.hpp"
#include "wire/value.hpp"

namespace spead::wire {
namespace {

void write_number(std::uint8_t* bytes, std::uint64_t at, unsigned bits, bool little_endian,
                  std::uint64_t value) {
    write_bits(bytes, at, bits, little_endian ? byte_swap(value) >> (64 - bits) : value);
}

/// Returns the scalar as an integer of the field: its low bits.
tl::expected<std::uint64_t, ValueError> to_integer(const Scalar& scalar, const Field& field) {
    const auto bits = static_cast<unsigned>(field.bits);
    const bool is_signed = field.kind == FieldKind::signed_integer;
    if (const auto* value = std::get_if<std::uint64_t>(&scalar)) {
        const unsigned room = is_signed ? bits - 1 : bits;
        if (room < 64 && *value >> room != 0)
            return tl::unexpected(ValueError::out_of_range);
        return *value;
    }
    const auto* value = std::get_if<std::int64_t>(&scalar);
    if (value == nullptr)
        return tl::unexpected(ValueError::wrong_type);
    if (is_signed ? *value >> (bits - 1) != 0 && *value >> (bits - 1) != -1
                  : *value < 0 || (bits < 64 && *value >> bits != 0))
        return tl::unexpected(ValueError::out_of_range);
    return static_cast<std::uint64_t>(*value);
}

std::optional<double> to_double(const Scalar& scalar) {
    if (const auto* value = std::get_if<double>(&scalar))
        return *value;
    if (const auto* value = std::get_if<std::int64_t>(&scalar))
        return static_cast<double>(*value);
    if (const auto* value = std::get_if<std::uint64_t>(&scalar))
        return static_cast<double>(*value);
    return std::nullopt;
}

/// Writes a float. Returns false when it is too big for the width.
bool write_float(std::uint8_t* bytes, std::uint64_t at, unsigned bits, bool little_endian, double value) {
    if (bits == 64) {
        write_number(bytes, at, bits, little_endian, std::bit_cast<std::uint64_t>(value));
        return true;
    }
    if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
        return false;
    write_number(bytes, at, bits, little_endian, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    return true;
}

/// Writes a string. Returns the error, if there is one.
std::optional<ValueError> write_string(std::uint8_t* bytes, const Field& field, std::uint64_t at,
                                       const std::string& text) {
    if (field.kind == FieldKind::text) {
        const std::optional<std::u32string> characters = utf8_to_utf32(text);
        if (!characters || characters->size() > field.bits / 32)
            return ValueError::out_of_range;
        for (std::size_t i = 0; i < characters->size(); ++i)
            write_number(bytes, at + i * 32, 32, field.little_endian, (*characters)[i]);
        return std::nullopt;
    }
    const std::uint64_t room = field.bits / 8;
    if (text.size() > room || (field.kind == FieldKind::character && text.size() != 1))
        return ValueError::out_of_range;
    for (std::size_t i = 0; i < text.size(); ++i)
        write_bits(bytes, at + i * 8, 8, static_cast<std::uint8_t>(text[i]));
    return std::nullopt;
}

std::optional<ValueError> write_field(std::uint8_t* bytes, const Field& field, std::uint64_t at,
                                      const Scalar& scalar) {
    const auto bits = static_cast<unsigned>(field.bits);
    switch (field.kind) {
        case FieldKind::unsigned_integer:
        case FieldKind::signed_integer: {
            const auto value = to_integer(scalar, field);
            if (!value)
                return value.error();
            write_number(bytes, at, bits, field.little_endian, *value);
            return std::nullopt;
        }
        case FieldKind::floating: {
            const std::optional<double> value = to_double(scalar);
            if (!value)
                return ValueError::wrong_type;
            return write_float(bytes, at, bits, field.little_endian, *value)
                       ? std::nullopt
                       : std::optional(ValueError::out_of_range);
        }
        case FieldKind::complex: {
            std::complex<double> value;
            if (const auto* pair = std::get_if<std::complex<double>>(&scalar))
                value = *pair;
            else if (const std::optional<double> real = to_double(scalar))
                value = *real;
            else
                return ValueError::wrong_type;
            const unsigned half = bits / 2;
            return write_float(bytes, at, half, field.little_endian, value.real()) &&
                           write_float(bytes, at + half, half, field.little_endian, value.imag())
                       ? std::nullopt
                       : std::optional(ValueError::out_of_range);
        }
        case FieldKind::boolean: {
            const auto* value = std::get_if<bool>(&scalar);
            if (value == nullptr)
                return ValueError::wrong_type;
            write_bits(bytes, at, bits, *value ? 1 : 0);
            return std::nullopt;
        }
        case FieldKind::character:
        case FieldKind::bytes:
        case FieldKind::text:
            break;
    }
    const auto* text = std::get_if<std::string>(&scalar);
    return text == nullptr ? ValueError::wrong_type : write_string(bytes, field, at, *text);
}

/// Returns whether the type allows the shape, and its elements are as many as given.
bool is_shape_of(const ItemType& type, std::span<const std::uint64_t> shape, std::size_t scalars) {
    if (shape.size() != type.shape.size() || scalars % type.fields.size() != 0)
        return false;
    std::uint64_t elements = 1;
    bool empty = false, overflow = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (type.shape[i].value_or(shape[i]) != shape[i])
            return false;
        empty = empty || shape[i] == 0;
        overflow = __builtin_mul_overflow(elements, shape[i], &elements) || overflow;
    }
    return empty ? scalars == 0 : !overflow && elements == scalars / type.fields.size();
}

}  // namespace

tl::expected<std::vector<std::uint8_t>, ValueError> encode_value(const ItemType& type,
                                                                 std::span<const std::uint64_t> shape,
                                                                 std::span<const Scalar> scalars) {
    if (!is_shape_of(type, shape, scalars.size()))
        return tl::unexpected(ValueError::wrong_shape);
    const std::size_t fields = type.fields.size();
    const std::uint64_t elements = scalars.size() / fields;
    std::uint64_t bits;
    if (__builtin_mul_overflow(elements, type.element_bits, &bits))
        return tl::unexpected(ValueError::out_of_range);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0)));
    for (std::uint64_t element = 0; element < elements; ++element) {
        const std::uint64_t at = element_position(type, shape, element) * type.element_bits;
        for (std::size_t i = 0; i < fields; ++i) {
            const Field& field = type.fields[i];
            if (const auto error =
                    write_field(out.data(), field, at + field.offset, scalars[element * fields + i]))
                return tl::unexpected(*error);
        }
    }
    return out;
}

tl::expected<std::uint64_t, ValueError> to_immediate(std::span<const std::uint8_t> bytes, Flavour flavour) {
    if (bytes.size() > flavour.address_bytes())
        return tl::unexpected(ValueError::no_immediate);
    std::uint64_t value = 0;
    for (const std::uint8_t byte : bytes)
        value = value << 8 | byte;
    return value;
}

}  // namespace spead::wire
