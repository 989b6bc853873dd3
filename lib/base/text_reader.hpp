// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace spead {

/// Reads a text of words, numbers and signs, as the parsers of filters and placements need it. Control code.
class TextReader {
  public:
    /// Describes a kind of text. Refers to constants.
    struct Kind {
        std::string_view name;                    ///< for errors: "filter"
        std::string_view word_characters;         ///< of words, beside letters, digits and `_`
        std::span<const std::string_view> signs;  ///< of two characters; others have one
    };

    /// Goes to the first token. Refers to the text. `where` is the where() of errors.
    TextReader(const Kind& kind, std::string_view text, std::string_view where)
        : kind_(kind), text_(text), where_(where) {
        next();
    }

    /// Returns the current token; an empty one at the end.
    std::string_view token() const noexcept { return token_; }
    /// Returns the number of the token's first character in the text, from 0.
    std::size_t at() const noexcept { return at_; }
    const std::string& where() const noexcept { return where_; }

    /// Goes to the next token.
    void next();
    /// Goes on if the token is `word`. Returns whether it was.
    bool take(std::string_view word);

    /// Parses a number: decimal or 0x hexadecimal, up to 64 bits. Throws as fail() if the token is none.
    std::uint64_t number(std::string_view wanted);

    /// Parses a number of a range. Throws as fail() at the number if it is outside.
    std::uint64_t number(std::string_view wanted, std::uint64_t least, std::uint64_t most);
    /// Goes past `sign`. Throws as fail() if the token is another.
    void want(std::string_view sign);

    /// Throws UsageError with the token, its place, `extra`, and the possible tokens.
    [[noreturn]] void fail(std::string_view wanted, std::string_view extra = {}) const;

    /// Returns a token for an error: quoted, shortened and printable, or "the end".
    static std::string shown(std::string_view token);

  private:
    bool is_word(char c) const;

    Kind kind_;
    std::string_view text_;
    std::string where_;
    std::string_view token_;
    std::size_t at_ = 0;
};

}  // namespace spead
