// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Tables and sentences that fit a terminal, for `top`. What does not fit is marked or named. Pure.
namespace spead::app {

/// One row of a page's table, and what rows are sorted by.
struct Row {
    std::string name;
    double rate = 0;
    double loss = 0;
    double queue = 0;
    std::vector<std::string> cells;  ///< as the page's columns, without the name
};

struct Column {
    std::string name;
    bool words = false;  ///< to the left, and cut if it is the first or the last that has room; else a number
};

struct Page {
    std::string name;             ///< of the first column
    std::vector<Column> columns;  ///< most important first: those at the end give way on narrow terminals
    std::vector<Row> rows;
};

struct TopTable {
    std::vector<std::string> lines;   ///< the head and the rows
    std::vector<std::string> hidden;  ///< columns for which there was no room
};

/// Returns the rows as text, each column as wide as its widest cell. Cut words end in "~".
TopTable top_table(const Page& page, std::size_t columns);

/// Returns a sentence in lines of so many columns at most, cut at blanks, all but the first set in.
std::vector<std::string> wrapped(std::string_view sentence, std::size_t columns);

/// Returns text without what would move a terminal's cursor, as long as it may be; "~" at its end says that
/// there was more.
std::string fit(std::string_view line, std::size_t columns);

}  // namespace spead::app
