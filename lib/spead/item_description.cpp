// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "spead/send_heap.hpp"
#include "wire/item_type.hpp"
#include "wire/numpy_header.hpp"

/// Converts a user's item description to a descriptor.
namespace spead::door {

namespace {

std::string where_of(const ItemDescription& item) {
    return fmt::format("item {:#x} (\"{}\")", item.id, item.name);
}

std::string numpy_header_of(const ItemDescription& item) {
    // Within a dictionary literal: nothing may end the string.
    const bool plain = std::all_of(item.dtype.begin(), item.dtype.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("<>|=?").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string shape;
    for (const std::int64_t dimension : item.shape) {
        if (dimension < 0)
            throw_usage(where_of(item),
                        "a dimension varies, which dtype \"{}\" cannot express; give `format` (\"u16\") "
                        "instead of `dtype`",
                        item.dtype);
        shape += fmt::format("{}, ", dimension);
    }
    const auto header = wire::parse_numpy_header(
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({})}}", plain ? item.dtype : "",
                    item.shape.size() == 1 || shape.empty() ? shape : shape.substr(0, shape.size() - 2)));
    if (!header)
        throw_usage(where_of(item),
                    "dtype \"{}\" is not supported: give one of numpy's, as \">u2\", \"<f4\" or \"|u1\", or "
                    "a `format`; at most {} dimensions",
                    item.dtype, wire::kMaxNumpyDimensions);
    return wire::to_string(*header);
}

std::vector<wire::FieldFormat> format_of(const ItemDescription& item) {
    std::vector<wire::FieldFormat> fields;
    std::string_view rest = item.format;
    while (true) {
        const std::size_t begin = rest.find_first_not_of(' ');
        if (begin == std::string_view::npos)
            return fields;
        rest.remove_prefix(begin);
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(word.size());
        std::uint64_t bits = 0;
        const char* const end = word.data() + word.size();
        const auto [at, error] = std::from_chars(word.data() + 1, end, bits);
        if (std::string_view("uifbc").find(word.front()) == std::string_view::npos || at != end ||
            error != std::errc() || bits == 0)
            throw_usage(where_of(item),
                        "format field \"{}\" is not supported: give a letter of u (unsigned), i (signed), f "
                        "(float), b (boolean), c (character), and the number of bits, as \"u12\"",
                        word);
        fields.push_back({word.front(), bits});
    }
}

}  // namespace

wire::Descriptor descriptor_of(const ItemDescription& item) {
    if (item.dtype.empty() == item.format.empty())
        throw_usage(where_of(item), "give either its `dtype` (\">u2\") or its `format` (\"u16\")");
    wire::Descriptor d;
    d.id = item.id;
    d.name = item.name;
    d.description = item.description;
    if (!item.dtype.empty())
        d.numpy_header = numpy_header_of(item);
    else
        d.format = format_of(item);
    for (const std::int64_t dimension : item.shape) {
        if (dimension < -1)
            throw_usage(where_of(item),
                        "dimension {} is not a size; give 0 or more, or -1 for one that varies", dimension);
        if (item.dtype.empty())
            d.shape.push_back(dimension < 0 ? std::nullopt
                                            : std::optional(static_cast<std::uint64_t>(dimension)));
    }
    if (const auto type = wire::item_type(d); !type)
        throw_usage(where_of(item), "receivers could not read it: {}", wire::name_of(type.error()));
    return d;
}

}  // namespace spead::door
