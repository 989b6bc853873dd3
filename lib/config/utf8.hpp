// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spead::config {

/// Whether `bytes` is UTF-8 (RFC 3629: shortest forms, no surrogates, up to U+10FFFF) without NUL: what both
/// TOML and JSON can carry.
constexpr bool is_text(std::string_view bytes) {
    std::size_t i = 0;
    while (i < bytes.size()) {
        const auto lead = static_cast<unsigned char>(bytes[i++]);
        if (lead == 0)
            return false;
        if (lead < 0x80)
            continue;
        const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4)
            return false;
        std::uint32_t code = lead & (0x3Fu >> more);
        for (int k = 0; k < more; k++, i++) {
            if (i >= bytes.size() || (static_cast<unsigned char>(bytes[i]) & 0xC0) != 0x80)
                return false;
            code = code << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3Fu);
        }
        const bool shortest = more == 1 || (more == 2 ? code >= 0x800 : code >= 0x10000);
        const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        if (!shortest || surrogate || code > 0x10FFFF)
            return false;
    }
    return true;
}

}  // namespace spead::config
