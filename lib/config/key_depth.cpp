// SPDX-License-Identifier: BSD-3-Clause
#include "config/key_depth.hpp"

#include <algorithm>

namespace spead::config {

namespace {

/// Returns the end of the string that begins at `at`: after its closing quotes, or at the end of the text; an
/// unclosed single-line string ends with its line.
std::size_t end_of_string(std::string_view text, std::size_t at) {
    const char quote = text[at];
    const bool escapes = quote == '"';
    const std::string_view three(quote == '"' ? "\"\"\"" : "'''");
    const bool several_lines = text.substr(at, 3) == three;
    for (std::size_t i = at + (several_lines ? 3 : 1); i < text.size(); i++) {
        if (escapes && text[i] == '\\')
            i++;
        else if (several_lines && text.substr(i, 3) == three)
            return i + 3;
        else if (!several_lines && (text[i] == quote || text[i] == '\n'))
            return i + 1;
    }
    return text.size();
}

}  // namespace

std::optional<std::size_t> too_deep_key(std::string_view text) {
    std::size_t dots = 0;
    for (std::size_t i = 0; i < text.size(); i++) {
        const char c = text[i];
        if (c == '"' || c == '\'') {
            i = end_of_string(text, i) - 1;
            // A string that ran into the end of its line has taken it along.
            dots = text[i] == '\n' ? 0 : dots;
        } else if (c == '#') {
            i = std::min(text.find('\n', i), text.size()) - 1;
        } else if (c == '.') {
            if (++dots >= kMaxKeyParts)
                return i;
        } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') {
            dots = 0;
        }
    }
    return std::nullopt;
}

}  // namespace spead::config
