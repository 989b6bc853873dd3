// SPDX-License-Identifier: BSD-3-Clause
#include "config/key.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/suggest.hpp"
#include "base/units.hpp"

namespace spead::config {

namespace {

/// Returns a TOML basic string.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (byte < 0x20 || byte == 0x7F)
            out += fmt::format("\\u{:04X}", byte);
        else
            out += c;
    }
    return out + '"';
}

std::string human_limit(const Key& key, std::int64_t limit) {
    switch (key.field.type) {
        case KeyType::size:
            return human_size(static_cast<std::uint64_t>(limit));
        case KeyType::rate:
            return rate_text(static_cast<double>(limit));
        default:
            return fmt::format("{}", limit);
    }
}

std::string range_text(const Key& key) {
    if (key.range.max == INT64_MAX)
        return fmt::format("{} or more", key.range.min);
    return fmt::format("{} to {}{}", human_limit(key, key.range.min), human_limit(key, key.range.max),
                       key.zero ? ", or 0" : "");
}

bool holds(const Key& key, auto number) {
    if (key.zero && number == 0)
        return true;
    if constexpr (std::is_floating_point_v<decltype(number)>)
        // Not a number is in no range.
        return number >= static_cast<double>(key.range.min) && number <= static_cast<double>(key.range.max);
    else
        return std::cmp_greater_equal(number, key.range.min) && std::cmp_less_equal(number, key.range.max);
}

std::string shown(const Key& key, auto number) {
    switch (key.field.type) {
        case KeyType::size:
            return human_size(static_cast<std::uint64_t>(number));
        case KeyType::rate:
            return fmt::format("{} bytes per second", number);
        case KeyType::time:
            return fmt::format("{} seconds", number);
        default:
            return fmt::format("{}", number);
    }
}

struct Complaint {
    const Key& key;

    std::string operator()(const std::string& word) const {
        const auto choices = key.field.choices;
        if (key.field.type != KeyType::choice || std::ranges::find(choices, word) != choices.end())
            return {};
        return fmt::format("`{}` is not a choice{}; give {}", word, hint(word, choices), list_of(choices));
    }
    std::string operator()(const std::vector<unsigned>& list) const {
        for (const unsigned number : list)
            if (std::string wrong = (*this)(std::uint64_t{number}); !wrong.empty())
                return wrong;
        return {};
    }
    template <typename T>
    std::string operator()(const T& value) const {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
            if (!holds(key, value))
                return fmt::format("`{}` is {}; give {}", key.name, shown(key, value), range_text(key));
        return {};
    }
};

struct FileText {
    const Key& key;

    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool on) const { return on ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(std::uint64_t number) const {
        return key.field.type == KeyType::size ? quoted(size_text(number)) : fmt::format("{}", number);
    }
    std::string operator()(double number) const {
        if (key.field.type == KeyType::rate)
            return quoted(rate_text(number));
        if (key.field.type == KeyType::time)
            return quoted(key.off_word && number == 0 ? "off" : duration_text(number));
        return fmt::format("{}", number);
    }
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(const std::vector<unsigned>& list) const {
        return fmt::format("[{}]", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<std::string>& list) const {
        std::vector<std::string> entries;
        std::ranges::transform(list, std::back_inserter(entries), quoted);
        return fmt::format("[{}]", fmt::join(entries, ", "));
    }
};

}  // namespace

std::string complaint(const Key& key, const Value& value) {
    return std::visit(Complaint{key}, value);
}

std::string file_text(const Key& key, const Value& value) {
    return std::visit(FileText{key}, value);
}

std::span<const std::string_view> choices(const Key& key) {
    static constexpr std::array<std::string_view, 2> kSwitch{"true", "false"};
    return key.field.type == KeyType::flag ? kSwitch : key.field.choices;
}

std::string accepted(const Key& key) {
    switch (key.field.type) {
        case KeyType::flag:
            return "true or false";
        case KeyType::integer:
        case KeyType::real:
            return range_text(key);
        case KeyType::size:
            return fmt::format("a size, {}", range_text(key));
        case KeyType::rate:
            return "a rate, or 0";
        case KeyType::time:
            return key.off_word ? "a time, or off" : "a time";
        case KeyType::choice:
            return list_of(key.field.choices);
        case KeyType::cpu:
            return "a CPU";
        case KeyType::cpus:
            return "a list of CPUs";
        case KeyType::texts:
            return "a list of texts";
        case KeyType::endpoints:
            return "a list of endpoints";
        case KeyType::text:
            break;
    }
    return "a text";
}

}  // namespace spead::config
