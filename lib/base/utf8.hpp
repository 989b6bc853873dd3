// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Checks UTF-8 by RFC 3629: shortest forms, no surrogates, up to U+10FFFF.
namespace spead {

/// Returns the length in bytes of the first character in `bytes`; 0 when there is no valid one.
constexpr std::size_t utf8_length(std::string_view bytes) {
    if (bytes.empty())
        return 0;
    const auto lead = static_cast<unsigned char>(bytes[0]);
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (bytes.size() < length)
        return 0;
    std::uint32_t code = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; i++) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        if ((byte & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (byte & 0x3Fu);
    }
    const bool shortest = length == 2 || code >= (length == 3 ? 0x800u : 0x10000u);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return shortest && !surrogate && code <= 0x10FFFF ? length : 0;
}

/// Returns whether `bytes` is UTF-8 without NUL, which both TOML and JSON can carry.
constexpr bool is_text(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t length = utf8_length(bytes);
        if (length == 0 || bytes[0] == '\0')
            return false;
        bytes.remove_prefix(length);
    }
    return true;
}

}  // namespace spead
