// SPDX-License-Identifier: BSD-3-Clause
#include "sink/zarr_array.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/foreign_json.hpp"

namespace spead::sink {

namespace {

using nlohmann::ordered_json;

ordered_json fill_of(const ElementType& type) {
    if (type.kind == 'c')
        return ordered_json::array({"NaN", "NaN"});
    return type.kind == 'f' ? ordered_json("NaN") : ordered_json(0);
}

ZarrArray::Axis axis_of(const std::string& name, std::uint64_t count, const Column& column) {
    ZarrArray::Axis axis{name, count};
    if (name == column.axis) {
        axis.chunks = column.count;
        axis.at = column.index;
    }
    return axis;
}

/// Returns the array of a value for each heap.
ZarrArray array_of_heaps(const char* name, const chunk::Placement& placement, const Column& column) {
    ZarrArray array{.name = name, .time = placement.time_axis()};
    for (const chunk::Axis& axis : placement.axes)
        array.axes.push_back(axis_of(axis.name, axis.count, column));
    return array;
}

/// Returns the text that readers take for these bytes as a value of several fields: base64.
std::string ones_in_base64(std::size_t bytes) {
    std::string text(bytes / 3 * 4, '/');
    if (bytes % 3 == 1)
        text += "/w==";
    else if (bytes % 3 == 2)
        text += "//8=";
    return text;
}

}  // namespace

std::string ZarrArray::metadata(std::uint64_t chunks) const {
    ordered_json shape = ordered_json::array();
    ordered_json of_chunk = ordered_json::array();
    for (std::size_t i = 0; i < axes.size(); i++) {
        shape.push_back(axes[i].chunk * (i == time ? chunks : axes[i].chunks));
        of_chunk.push_back(axes[i].chunk);
    }
    ordered_json array;
    array["zarr_format"] = 2;
    array["shape"] = shape;
    array["chunks"] = of_chunk;
    array["dtype"] = type;
    array["fill_value"] = fill;
    array["order"] = "C";
    array["compressor"] = nullptr;
    array["filters"] = nullptr;
    array["dimension_separator"] = ".";
    return array.dump(1) + '\n';
}

std::string ZarrArray::key(std::uint64_t index) const {
    std::string key;
    for (std::size_t i = 0; i < axes.size(); i++)
        key += fmt::format("{}{}", i == 0 ? "" : ".", i == time ? index : axes[i].at);
    return key;
}

ZarrArray::Found ZarrArray::read(std::string_view text) const {
    const auto theirs = parse_foreign<ordered_json>(text);
    if (!theirs.is_object())
        return {0, "it is not JSON of an array"};
    ordered_json ours = ordered_json::parse(metadata(0));
    for (const auto& [key, value] : ours.items()) {
        const auto found = theirs.find(key);
        if (key == "shape" || (key == "dimension_separator" && found == theirs.end()))
            continue;
        if (found == theirs.end() || *found != value)
            return {0, fmt::format("its `{}` is {}, and not {}", key,
                                   found == theirs.end() ? "missing" : excerpt_of(*found), value.dump())};
    }
    const auto shape = theirs.find("shape");
    const bool lengths = shape != theirs.end() && shape->is_array() && shape->size() == axes.size() &&
                         std::all_of(shape->begin(), shape->end(),
                                     [](const ordered_json& n) { return n.is_number_unsigned(); });
    if (!lengths)
        return {0, "its `shape` does not fit its `chunks`"};
    ordered_json expected = ours["shape"];
    expected[time] = (*shape)[time];
    const auto length = (*shape)[time].get<std::uint64_t>();
    if (*shape != expected || length % axes[time].chunk != 0)
        return {0, fmt::format("its `shape` is {}, and not {} with any number of whole chunks along `{}`",
                               excerpt_of(*shape), expected.dump(), axes[time].name)};
    return {length / axes[time].chunk};
}

ZarrArray data_array(const ArrayLayout& layout, const Column& column) {
    ZarrArray array{
        .name = "data", .time = layout.time, .type = layout.type.text(), .fill = fill_of(layout.type)};
    for (const ArrayAxis& axis : layout.axes)
        array.axes.push_back(axis_of(axis.name, axis.count, column));
    return array;
}

ZarrArray presence_array(const chunk::Placement& placement, const Column& column) {
    ZarrArray array = array_of_heaps("presence", placement, column);
    array.type = "|u1";
    array.fill = 0;
    if (const std::uint32_t packets = placement.check().packets_per_heap; packets > 1)
        array.axes.push_back({"packet", packets});
    return array;
}

std::optional<ZarrArray> extra_array(const chunk::Placement& placement, const Column& column) {
    if (placement.extras.empty())
        return std::nullopt;
    ZarrArray array = array_of_heaps("extra", placement, column);
    const auto type_of = [](const chunk::Extra& extra) {
        return fmt::format("{}u{}", extra.bytes == 1 ? '|' : '<', extra.bytes);
    };
    if (placement.extras.size() == 1) {
        const unsigned bytes = placement.extras[0].bytes;
        array.type = type_of(placement.extras[0]);
        array.fill = ~std::uint64_t{0} >> (64 - 8 * bytes);
        return array;
    }
    array.type = ordered_json::array();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < placement.extras.size(); i++) {
        array.type.push_back({fmt::format("extra{}", i), type_of(placement.extras[i])});
        bytes += placement.extras[i].bytes;
    }
    array.fill = ones_in_base64(bytes);
    return array;
}

ZarrArray arrival_array(const Column& column) {
    ZarrArray array{.name = "arrival", .axes = {{"chunk"}}, .type = "<i8", .fill = 0};
    if (!column.axis.empty())
        array.axes.push_back({"column", 1, column.count, column.index});
    array.axes.push_back({"end", 2});
    return array;
}

}  // namespace spead::sink
