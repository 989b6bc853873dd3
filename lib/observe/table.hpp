// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spead::observe {

/// Aligns columns of text for a terminal: words to the left, numbers to the right, two blanks between
/// columns.
class Table {
  public:
    /// Adds one row with its first cell; further cells are added by column name. The first use of a name adds
    /// its column; in rows without it the cell is empty.
    void row(std::string_view column, const std::string& name);
    void word(std::string_view column, const std::string& text);
    /// Adds a word to a column that is only shown if some row has one.
    void word_if_any(std::string_view column, const std::string& text);
    void number(std::string_view column, const std::string& text);
    /// Adds a number to a column that is only shown if some row has a text in it.
    void number_if_any(std::string_view column, const std::string& text);
    void count(std::string_view column, std::uint64_t value);
    /// Adds a count to a column that is only shown if some row is not 0.
    void count_if_any(std::string_view column, std::uint64_t value);

    bool empty() const { return rows_ == 0; }
    /// Returns the head line and rows, each with a newline and without blanks at its end; empty when there
    /// are no rows.
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

/// Returns a loss with its fraction of the expected total: "12 (0.35 %)".
std::string missing_text(const std::string& how_much, std::uint64_t missing, std::uint64_t came);

/// Returns the columns of a text on a terminal, one per UTF-8 character.
std::size_t display_width(std::string_view text);

}  // namespace spead::observe
