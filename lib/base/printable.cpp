// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.hpp"

#include <fmt/core.h>

#include "base/utf8.hpp"

namespace spead {

namespace {

/// Returns whether it is C0, DEL, or C1 (U+0080 to U+009F), which terminals obey in UTF-8 too.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    return first < 0x20 || first == 0x7F ||
           (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0);
}

}  // namespace

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        if (length != 0 && !is_control(character))
            shown += character;
        else
            for (const char c : character)
                shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        text.remove_prefix(character.size());
    }
    return shown;
}

}  // namespace spead
