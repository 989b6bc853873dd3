// SPDX-License-Identifier: BSD-3-Clause
#include "sink/array_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::sink {

namespace {

/// Returns the bits of a quiet NaN of this size.
std::uint64_t nan_bits(std::size_t bytes) noexcept {
    if (bytes == 2)
        return 0x7e00;
    if (bytes == 4)
        return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
    return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
}

bool is_size(char kind, unsigned bytes) noexcept {
    switch (kind) {
        case 'i':
        case 'u':
            return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
        case 'f':
            return bytes == 2 || bytes == 4 || bytes == 8;
        case 'c':
            return bytes == 8 || bytes == 16;
        default:
            return false;
    }
}

/// Returns the name, with as many underscores as make it differ from all others.
std::string unused_name(const chunk::Placement& placement, std::string name) {
    while (std::any_of(placement.axes.begin(), placement.axes.end(),
                       [&name](const chunk::Axis& axis) { return axis.name == name; }))
        name += '_';
    return name;
}

}  // namespace

ElementType ElementType::parse(std::string_view text, std::string_view where) {
    ElementType type;
    std::string_view rest = text;
    const bool ordered = !rest.empty() && std::string_view("<>|").find(rest.front()) != rest.npos;
    if (ordered) {
        type.order = rest.front();
        rest.remove_prefix(1);
    }
    const std::string_view digits = rest.substr(std::min<std::size_t>(1, rest.size()));
    type.kind = rest.empty() ? ' ' : rest.front();
    type.bytes = digits == "16" ? 16 : digits.size() == 1 ? static_cast<unsigned>(digits.front() - '0') : 0;
    const bool order_fits = type.bytes == 1 ? true : ordered && type.order != '|';
    if (!is_size(type.kind, type.bytes) || !order_fits)
        throw_usage(std::string(where),
                    "`{}` is not a type of elements; give u1, i1, or an order of bytes (< or >) with i2, u2, "
                    "i4, u4, i8, u8, f2, f4, f8, c8 or c16, as in >f4",
                    text);
    if (type.bytes == 1)
        type.order = '|';
    return type;
}

std::string ElementType::text() const {
    return fmt::format("{}{}{}", order, kind, bytes);
}

std::vector<std::byte> ElementType::fill() const {
    std::vector<std::byte> filled(bytes);
    if (kind != 'f' && kind != 'c')
        return filled;
    const std::size_t part = kind == 'c' ? bytes / 2 : bytes;
    const std::uint64_t bits = nan_bits(part);
    for (std::size_t i = 0; i < bytes; i++) {
        const std::size_t in_part = i % part;
        const std::size_t power = order == '>' ? part - 1 - in_part : in_part;
        filled[i] = static_cast<std::byte>(bits >> (8 * power));
    }
    return filled;
}

std::uint64_t ArrayLayout::bytes() const noexcept {
    return std::accumulate(axes.begin(), axes.end(), std::uint64_t{type.bytes},
                           [](std::uint64_t bytes, const ArrayAxis& axis) { return bytes * axis.count; });
}

ArrayLayout array_layout(const chunk::Placement& placement, const ElementType& type, std::string_view where) {
    const std::vector<std::uint64_t> strides = placement.strides();
    const std::string time = placement.axes[placement.time_axis()].name;
    const bool rows = placement.rows.bytes != 0;
    const std::uint64_t piece = rows ? placement.rows.bytes : placement.heap_bytes;
    if (piece % type.bytes != 0)
        throw_usage(std::string(where),
                    "{} have {} bytes, which elements of {} bytes ({}) do not divide; give another `dtype`",
                    rows ? "rows of heaps" : "heaps", piece, type.bytes, type.text());
    ArrayLayout layout;
    layout.type = type;
    for (std::size_t i = 0; i < placement.axes.size(); i++)
        layout.axes.push_back({placement.axes[i].name, placement.axes[i].count, strides[i]});
    if (rows)
        layout.axes.push_back(
            {unused_name(placement, "row"), placement.heap_bytes / piece, placement.rows.stride});
    std::stable_sort(layout.axes.begin(), layout.axes.end(),
                     [](const ArrayAxis& a, const ArrayAxis& b) { return a.stride > b.stride; });
    layout.axes.push_back({unused_name(placement, "element"), piece / type.bytes, type.bytes});
    std::uint64_t taken = type.bytes;
    for (auto axis = layout.axes.rbegin(); axis != layout.axes.rend(); axis++) {
        if (axis->count > 1 && axis->stride != taken)
            throw_usage(
                std::string(where),
                "the places of the axis `{}` lie {} bytes apart and take {}, and an array has no gaps; "
                "leave its `by` out, or use a raw sink",
                axis->name, axis->stride, taken);
        taken *= axis->count;
    }
    layout.time =
        static_cast<std::size_t>(std::find_if(layout.axes.begin(), layout.axes.end(),
                                              [&time](const ArrayAxis& axis) { return axis.name == time; }) -
                                 layout.axes.begin());
    return layout;
}

Column parse_column(const std::string& axis, std::string_view text, std::string_view where) {
    Column column{axis};
    if (text.empty())
        return column;
    const std::size_t slash = text.find('/');
    if (slash == text.npos)
        throw_usage(std::string(where), "`{}` is not a column; give I/N, as in 0/3 for the first of three",
                    text);
    column.count = static_cast<std::uint32_t>(parse_integer(text.substr(slash + 1), 1, kMostColumns, where));
    column.index =
        static_cast<std::uint32_t>(parse_integer(text.substr(0, slash), 0, column.count - 1, where));
    return column;
}

void check_column(const chunk::Placement& placement, const Column& column, std::string_view where) {
    if (column.axis.empty())
        return;
    const auto axis = std::find_if(placement.axes.begin(), placement.axes.end(),
                                   [&column](const chunk::Axis& a) { return a.name == column.axis; });
    if (axis == placement.axes.end())
        throw_usage(std::string(where), "the placement has no axis `{}`; name one of its axes", column.axis);
    if (axis->is_time)
        throw_usage(std::string(where),
                    "the axis `{}` is the time, of which each shard writes all; name another axis",
                    column.axis);
    if (!axis->term.list.empty())
        throw_usage(std::string(where),
                    "the axis `{}` looks its values up in a list, which cannot be dealt to shards; give it a "
                    "formula, as item 0x4103 / 256",
                    column.axis);
}

}  // namespace spead::sink
