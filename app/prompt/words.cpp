// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/words.hpp"

namespace spead::app {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

Words split_words(std::string_view line) {
    Words result;
    std::size_t at = 0;
    while (true) {
        while (at < line.size() && is_blank(line[at]))
            at++;
        if (at == line.size() || line[at] == '#')
            return result;
        std::string word;
        for (; at < line.size() && (result.in_quotes || !is_blank(line[at])); at++) {
            const char c = line[at];
            if (c == '"')
                result.in_quotes = !result.in_quotes;
            else if (result.in_quotes && c == '\\' && at + 1 < line.size())
                word += line[++at];
            else
                word += c;
        }
        result.words.push_back(std::move(word));
        result.last_is_open = at == line.size();
    }
}

std::string quoted_word(std::string_view word) {
    bool plain = !word.empty() && word.front() != '#';
    for (const char c : word)
        plain &= !is_blank(c) && c != '"';
    if (plain)
        return std::string(word);
    std::string quoted = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace spead::app
