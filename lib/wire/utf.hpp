// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Converts between UTF-32, of which numpy text is made, and UTF-8.
namespace spead::wire {

/// Appends one code point. An invalid one (a surrogate, above 0x10FFFF) becomes the replacement character.
void append_utf8(std::string& out, std::uint32_t code_point);

/// Returns all code points, or nothing if the text is not well-formed UTF-8.
std::optional<std::u32string> utf8_to_utf32(std::string_view text);

}  // namespace spead::wire
