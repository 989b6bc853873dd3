// SPDX-License-Identifier: BSD-3-Clause
#include "wire/utf.hpp"

#include <array>

namespace spead::wire {
namespace {

bool is_code_point(std::uint32_t c) {
    return c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
}

}  // namespace

void append_utf8(std::string& out, std::uint32_t code_point) {
    const std::uint32_t c = is_code_point(code_point) ? code_point : 0xFFFD;
    const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
        return;
    }
    if (c < 0x800) {
        put(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            put(0xE0 | c >> 12);
        } else {
            put(0xF0 | c >> 18);
            put(0x80 | (c >> 12 & 0x3F));
        }
        put(0x80 | (c >> 6 & 0x3F));
    }
    put(0x80 | (c & 0x3F));
}

std::optional<std::u32string> utf8_to_utf32(std::string_view text) {
    static constexpr std::array<std::uint32_t, 4> least{0, 0x80, 0x800,
                                                        0x10000};  // by number of further bytes
    std::u32string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::uint32_t first = static_cast<std::uint8_t>(text[i++]);
        std::size_t more = 0;
        std::uint32_t c = first;
        if (first >= 0xF8 || (first >= 0x80 && first < 0xC0))
            return std::nullopt;
        if (first >= 0xC0) {
            more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
            c = first & (0x3FU >> more);
        }
        if (more > text.size() - i)
            return std::nullopt;
        for (std::size_t k = 0; k < more; ++k) {
            const std::uint32_t next = static_cast<std::uint8_t>(text[i++]);
            if ((next & 0xC0) != 0x80)
                return std::nullopt;
            c = c << 6 | (next & 0x3F);
        }
        if (c < least[more] || !is_code_point(c))
            return std::nullopt;
        out.push_back(c);
    }
    return out;
}

}  // namespace spead::wire
