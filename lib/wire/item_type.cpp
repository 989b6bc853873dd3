// SPDX-License-Identifier: BSD-3-Clause
#include "wire/item_type.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "wire/numpy_header.hpp"

namespace spead::wire {
namespace {

/// Returns the field for one letter and width of a format.
std::optional<Field> format_field(const FieldFormat& format, std::uint64_t offset) {
    const auto field = [&](FieldKind kind) { return Field{kind, false, format.bits, offset}; };
    const bool integer_width = format.bits >= 1 && format.bits <= 64;
    switch (format.type) {
        case 'u':
            return integer_width ? std::optional(field(FieldKind::unsigned_integer)) : std::nullopt;
        case 'i':
            return integer_width ? std::optional(field(FieldKind::signed_integer)) : std::nullopt;
        case 'b':
            return integer_width ? std::optional(field(FieldKind::boolean)) : std::nullopt;
        case 'f':
            return format.bits == 32 || format.bits == 64 ? std::optional(field(FieldKind::floating))
                                                          : std::nullopt;
        case 'c':
            return format.bits == 8 ? std::optional(field(FieldKind::character)) : std::nullopt;
        default:
            return std::nullopt;
    }
}

std::optional<Field> numpy_field(const NumpyHeader& header, bool swap) {
    const bool little = header.byte_order == '<';
    Field field{FieldKind::bytes, header.byte_order != '|' && little != swap,
                std::uint64_t{header.item_size} * 8, 0};
    switch (header.kind) {
        case 'u':
            field.kind = FieldKind::unsigned_integer;
            return field;
        case 'i':
            field.kind = FieldKind::signed_integer;
            return field;
        case 'b':
            field.kind = FieldKind::boolean;
            return field;
        case 'f':
            field.kind = FieldKind::floating;
            return field.bits == 32 || field.bits == 64 ? std::optional(field) : std::nullopt;
        case 'c':
            field.kind = FieldKind::complex;
            return field.bits == 64 || field.bits == 128 ? std::optional(field) : std::nullopt;
        case 'S':
            return field;
        case 'U':
            field.kind = FieldKind::text;
            return field;
        default:
            return std::nullopt;
    }
}

}  // namespace

bool ItemType::is_variable() const noexcept {
    return std::any_of(shape.begin(), shape.end(), [](const auto& dimension) { return !dimension; });
}

std::string_view name_of(TypeError error) noexcept {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(TypeError::count_)> names{
        "no_format", "bad_numpy_header", "unsupported_type", "several_variable"};
    const auto index = static_cast<std::size_t>(error);
    return index < names.size() ? names[index] : "unknown";
}

tl::expected<ItemType, TypeError> item_type(const Descriptor& descriptor, unsigned bug_compat) {
    ItemType out;
    if (!descriptor.numpy_header.empty()) {
        const auto header = parse_numpy_header(descriptor.numpy_header);
        if (!header)
            return tl::unexpected(header.error() == NumpyError::unsupported_dtype
                                      ? TypeError::unsupported_type
                                      : TypeError::bad_numpy_header);
        const std::optional<Field> field = numpy_field(*header, (bug_compat & kBugCompatSwapEndian) != 0);
        if (!field)
            return tl::unexpected(TypeError::unsupported_type);
        out.shape.assign(header->shape.begin(), header->shape.end());
        out.fortran_order = header->fortran_order;
        out.fields = {*field};
        out.element_bits = field->bits;
        return out;
    }

    if (descriptor.format.empty())
        return tl::unexpected(TypeError::no_format);
    if (std::count(descriptor.shape.begin(), descriptor.shape.end(), std::nullopt) > 1)
        return tl::unexpected(TypeError::several_variable);
    for (const FieldFormat& format : descriptor.format) {
        const std::optional<Field> field = format_field(format, out.element_bits);
        if (!field)
            return tl::unexpected(TypeError::unsupported_type);
        out.fields.push_back(*field);
        out.element_bits += field->bits;  // at most 64 for each entry in memory: cannot wrap
    }
    out.shape = descriptor.shape;
    return out;
}

bool allows_immediate(const ItemType& type) noexcept {
    return !type.is_variable() && type.element_bits % 8 == 0;
}

}  // namespace spead::wire
