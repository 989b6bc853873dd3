// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace spead {

/// Returns the text as one word of a shell's command line: in single quotes, if a shell would read it in
/// another way. It has no backtick, so that it can stand between two.
inline std::string shell_word(std::string_view text) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=@%-";
    if (!text.empty() && text.find_first_not_of(kPlain) == text.npos)
        return std::string(text);
    std::string word = "'";
    for (const char c : text) {
        if (c == '`') {
            word += "'\"$(printf '\\140')\"'";
            continue;
        }
        if (c == '\'')
            word += "'\\'";
        word += c;
    }
    return word + '\'';
}

}  // namespace spead
