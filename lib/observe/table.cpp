// SPDX-License-Identifier: BSD-3-Clause
#include "observe/table.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace spead::observe {

void Table::row(std::string_view column, const std::string& name) {
    rows_++;
    put(column, false, true, name);
}

void Table::word(std::string_view column, const std::string& text) {
    put(column, false, true, text);
}

void Table::word_if_any(std::string_view column, const std::string& text) {
    put(column, false, !text.empty(), text);
}

void Table::number(std::string_view column, const std::string& text) {
    put(column, true, true, text);
}

void Table::number_if_any(std::string_view column, const std::string& text) {
    put(column, true, !text.empty(), text);
}

void Table::count(std::string_view column, std::uint64_t value) {
    put(column, true, true, fmt::format("{}", value));
}

void Table::count_if_any(std::string_view column, std::uint64_t value) {
    put(column, true, value != 0, fmt::format("{}", value));
}

void Table::put(std::string_view name, bool right, bool shown, std::string text) {
    auto column =
        std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.name == name; });
    if (column == columns_.end())
        column = columns_.insert(columns_.end(), Column{std::string(name), right, false, {}});
    column->shown |= shown;
    column->cells.resize(rows_);
    column->cells.back() = std::move(text);
}

std::string Table::text() const {
    if (rows_ == 0)
        return {};
    std::vector<std::string> lines(rows_ + 1);
    for (const Column& column : columns_) {
        if (!column.shown)
            continue;
        std::size_t width = display_width(column.name);
        for (const std::string& cell : column.cells)
            width = std::max(width, display_width(cell));
        for (std::size_t i = 0; i <= rows_; i++) {
            const std::string cell = i == 0                     ? column.name
                                     : i <= column.cells.size() ? column.cells[i - 1]
                                                                : std::string{};
            const std::string blanks(width - display_width(cell), ' ');
            if (!lines[i].empty())
                lines[i] += "  ";
            lines[i] += column.right ? blanks + cell : cell + blanks;
        }
    }
    std::string text;
    for (std::string& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string missing_text(const std::string& how_much, std::uint64_t missing, std::uint64_t came) {
    const double all = static_cast<double>(missing) + static_cast<double>(came);
    const double percent = all > 0 ? static_cast<double>(missing) / all * 100 : 0;
    return percent > 0 && percent < 0.01 ? fmt::format("{} (< 0.01 %)", how_much)
                                         : fmt::format("{} ({:.2f} %)", how_much, percent);
}

std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace spead::observe
