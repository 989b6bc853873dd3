// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spead::app {

/// Holds a typed line, cut into words: at blanks, but not between double quotes, where \" and \\ stand for
/// the characters themselves. A # that begins a word begins a comment.
struct Words {
    std::vector<std::string> words;
    /// Says that the last word is unfinished: nothing, not even a blank, follows it.
    bool last_is_open = false;
    /// Says that a quote was opened and not closed.
    bool in_quotes = false;
};
Words split_words(std::string_view line);

/// Returns the word with quotes if split_words needs them.
std::string quoted_word(std::string_view word);

}  // namespace spead::app
