// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spead::app {

/// A line as it is typed, cut into words: at blanks, but not between double quotes, where \" and \\ stand for
/// the characters themselves. A # that begins a word begins a comment.
struct Words {
    std::vector<std::string> words;
    /// The last word is still being typed: nothing, not even a blank, follows it.
    bool last_is_open = false;
    /// A quote was opened and not closed.
    bool in_quotes = false;
};
Words split_words(std::string_view line);

/// The word with quotes where split_words would need them.
std::string quoted_word(std::string_view word);

}  // namespace spead::app
