// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// Reads JSON of another process, which may be anything. The caller limits its size.
namespace spead {

/// Limits the depth of a document, since copies, comparisons and texts of it recurse. This program writes
/// fewer than ten levels.
inline constexpr std::size_t kDeepestJson = 64;

/// Returns whether brackets are nested in more than `most` others, outside strings.
constexpr bool is_deeper(std::string_view text, std::size_t most) {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > most)
                return true;
        } else if ((c == ']' || c == '}') && depth != 0) {
            depth--;
        }
    }
    return false;
}

/// Returns the document, or a discarded value when it is invalid or too deep. Never throws because of the
/// text.
template <typename Json = nlohmann::json>
Json parse_foreign(std::string_view text) {
    if (is_deeper(text, kDeepestJson))
        return Json(Json::value_t::discarded);
    return Json::parse(text, nullptr, false);
}

/// Returns a name that an object of the document has twice: parsers keep the last value. Empty: there is
/// none, or the document is invalid. The caller has looked that it is not too deep.
inline std::string repeated_name(std::string_view text) {
    std::vector<std::set<std::string>> open;
    std::string repeated;
    const auto look = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        if (event == nlohmann::json::parse_event_t::object_start)
            open.emplace_back();
        else if (event == nlohmann::json::parse_event_t::object_end)
            open.pop_back();
        else if (event == nlohmann::json::parse_event_t::key && repeated.empty() &&
                 !open.back().insert(parsed.get<std::string>()).second)
            repeated = parsed.get<std::string>();
        return true;
    };
    return nlohmann::json::parse(text, look, false).is_discarded() ? std::string() : repeated;
}

/// Returns at most 100 characters of a value, in ASCII, for an error's text.
template <typename Json>
std::string excerpt_of(const Json& value) {
    if (value.is_object())
        return "an object";
    const auto is_plain = [](const Json& element) { return element.is_primitive(); };
    if (value.is_array() && !std::all_of(value.begin(), value.end(), is_plain))
        return "a nested list";
    return value.dump(-1, ' ', true).substr(0, 100);
}

/// Returns the number with this name, or `otherwise` when it is absent, negative or something else.
template <typename Json>
std::uint64_t number_in(const Json& object, const char* name, std::uint64_t otherwise = 0) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_number_unsigned() ? found->template get<std::uint64_t>()
                                                                : otherwise;
}

/// Returns the text with this name; empty when it is absent or something else.
template <typename Json>
std::string text_in(const Json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found != object.end() && found->is_string() ? found->template get<std::string>() : std::string();
}

}  // namespace spead
