// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_query.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace spead::observe {

namespace {

/// Returns the value of a hexadecimal digit; -1: it is none.
int digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (i + 2 >= text.size())
            return std::nullopt;
        const int high = digit(text[i + 1]);
        const int low = digit(text[i + 2]);
        if (high < 0 || low < 0)
            return std::nullopt;
        out += static_cast<char>(16 * high + low);
        i += 2;
    }
    return out;
}

std::optional<std::vector<std::string>> path_parts(std::string_view path) {
    std::vector<std::string> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (end != 0) {
            std::optional<std::string> part = percent_decoded(path.substr(0, end));
            if (!part)
                return std::nullopt;
            parts.push_back(std::move(*part));
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

std::map<std::string, std::string> query_values(std::string_view query,
                                                const std::vector<std::string_view>& known) {
    std::map<std::string, std::string> values;
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view part = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        if (part.empty())
            continue;
        const std::size_t equals = part.find('=');
        const std::optional<std::string> name = percent_decoded(part.substr(0, equals));
        const std::optional<std::string> value =
            equals == std::string_view::npos ? std::nullopt : percent_decoded(part.substr(equals + 1));
        if (!name || !value)
            throw_usage("query", "`{}` cannot be read; write name=value, with %XX for other characters",
                        part);
        if (std::find(known.begin(), known.end(), *name) == known.end())
            throw_usage("query", "`{}` means nothing here; {}", *name,
                        known.empty() ? "leave the query out"
                                      : fmt::format("possible are {}", fmt::join(known, ", ")));
        if (!values.emplace(*name, *value).second)
            throw_usage("query", "`{}` comes twice; give it once", *name);
    }
    return values;
}

std::uint64_t query_number(std::string_view text, std::string_view what) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (text.empty() || problem != std::errc{} || stop != end)
        throw_usage("query", "{} is `{}`, and must be a whole number from 0", what, text);
    return value;
}

}  // namespace spead::observe
