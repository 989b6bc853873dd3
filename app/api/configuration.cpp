// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/configuration.hpp"

#include <cstdint>
#include <string_view>

#include <fmt/core.h>

#include "config/config.hpp"

namespace spead::app {

namespace {

/// Returns the text's FNV-1a hash of 64 bits. Two operators do not make collisions on purpose.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

std::string_view without_spaces(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

}  // namespace

ConfigurationText configuration_text(const runtime::Plan& plan) {
    ConfigurationText text{config::to_toml(plan), {}};
    text.version = fmt::format("{:016x}", hash_of(text.toml));
    return text;
}

bool names_version(const std::string& if_match, const std::string& version) {
    std::string_view rest = if_match;
    if (without_spaces(rest) == "*")
        return true;
    const std::string wanted = fmt::format("\"{}\"", version);
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        if (without_spaces(rest.substr(0, comma)) == wanted)
            return true;
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return false;
}

}  // namespace spead::app
