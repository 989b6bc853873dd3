// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Fits tables and sentences to a terminal, for `top`. Omitted text is marked or named. Pure.
namespace spead::app {

/// Holds one row of a page's table, and its sort key.
struct Row {
    std::string name;
    double rate = 0;
    double loss = 0;
    double queue = 0;
    std::vector<std::string> cells;  ///< in the order of the page's columns, without the name
};

struct Column {
    std::string name;
    bool words = false;  ///< aligned left, and cut if it is the first or the last that has room; else a
                         ///< number
};

struct Page {
    std::string name;             ///< of the first column
    std::vector<Column> columns;  ///< most important first: the last ones are dropped on narrow terminals
    std::vector<Row> rows;
};

struct TopTable {
    std::vector<std::string> lines;   ///< the head and the rows
    std::vector<std::string> hidden;  ///< columns without room
};

/// Returns the rows as text, each column as wide as its widest cell. Cut words end in "~".
TopTable top_table(const Page& page, std::size_t columns);

/// Returns a sentence in lines of at most `columns`, cut at blanks, all but the first indented.
std::vector<std::string> wrapped(std::string_view sentence, std::size_t columns);

/// Returns text without cursor movements, cut to the width; "~" at its end marks a cut.
std::string fit(std::string_view line, std::size_t columns);

}  // namespace spead::app
