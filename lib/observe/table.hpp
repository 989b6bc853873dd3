// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spead::observe {

/// Aligned columns of text for a terminal: words to the left, numbers to the right, two blanks between
/// columns.
class Table {
  public:
    /// One row with its first cell; cells are then added by column name. A column stands where it was first
    /// named; rows that do not name it leave it empty.
    void row(std::string_view column, const std::string& name);
    void word(std::string_view column, const std::string& text);
    /// A column that is only shown if some row has a word in it.
    void word_if_any(std::string_view column, const std::string& text);
    void number(std::string_view column, const std::string& text);
    /// Likewise a column that is only shown if some row has a text in it.
    void number_if_any(std::string_view column, const std::string& text);
    void count(std::string_view column, std::uint64_t value);
    /// A column that is only shown if some row has another value than 0 in it.
    void count_if_any(std::string_view column, std::uint64_t value);

    bool empty() const { return rows_ == 0; }
    /// Head line and rows, each ending in a newline and without blanks at its end; empty when there are no
    /// rows.
    std::string text() const;

  private:
    struct Column {
        std::string name;
        bool right;
        bool shown;
        std::vector<std::string> cells;  ///< by row; may be shorter than the table
    };
    void put(std::string_view column, bool right, bool shown, std::string text);

    std::vector<Column> columns_;
    std::size_t rows_ = 0;
};

/// Returns how much is missing, with its share of what should have come: "12 (0.35 %)".
std::string missing_text(const std::string& how_much, std::uint64_t missing, std::uint64_t came);

/// Columns a text takes on a terminal, one per UTF-8 character.
std::size_t display_width(std::string_view text);

}  // namespace spead::observe
