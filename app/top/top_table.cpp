// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_table.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace spead::app {

namespace {

/// Holds the least width of a cut column of words.
constexpr std::size_t kLeastWords = 6;

std::string cut(const std::string& words, std::size_t width) {
    return words.size() <= width ? words : words.substr(0, width - 1) + "~";
}

std::size_t widest(const Page& page, std::size_t column) {
    std::size_t width = page.columns[column].name.size();
    for (const Row& row : page.rows)
        width = std::max(width, row.cells[column].size());
    return width;
}

}  // namespace

TopTable top_table(const Page& page, std::size_t columns) {
    std::size_t name_width = page.name.size();
    for (const Row& row : page.rows)
        name_width = std::max(name_width, row.name.size());
    // Names leave room for the column after them.
    name_width = std::min(name_width, std::max<std::size_t>(columns / 3, 4));
    TopTable table;
    std::vector<std::size_t> widths;
    std::size_t used = name_width;
    for (std::size_t c = 0; c < page.columns.size(); c++) {
        std::size_t width = widest(page, c);
        const std::size_t left = columns > used + 2 ? columns - used - 2 : 0;
        const bool may_cut = page.columns[c].words && (c == 0 || c + 1 == page.columns.size());
        if (width > left && may_cut && left >= kLeastWords)
            width = left;
        if (width > left || !table.hidden.empty()) {
            table.hidden.push_back(page.columns[c].name);
            continue;
        }
        used += 2 + width;
        widths.push_back(width);
    }
    const auto line = [&](const std::string& name, const auto& cell) {
        std::string out = fmt::format("{:<{}}", cut(name, name_width), name_width);
        for (std::size_t c = 0; c < widths.size(); c++)
            out += page.columns[c].words ? fmt::format("  {:<{}}", cut(cell(c), widths[c]), widths[c])
                                         : fmt::format("  {:>{}}", cell(c), widths[c]);
        return out;
    };
    table.lines.push_back(line(page.name, [&](std::size_t c) { return page.columns[c].name; }));
    for (const Row& row : page.rows)
        table.lines.push_back(line(row.name, [&](std::size_t c) { return row.cells[c]; }));
    return table;
}

std::vector<std::string> wrapped(std::string_view sentence, std::size_t columns) {
    constexpr std::string_view kIndent = "  ";
    std::vector<std::string> lines;
    while (!sentence.empty()) {
        const std::string_view indent = lines.empty() ? std::string_view() : kIndent;
        const std::size_t room = std::max(columns, indent.size() + 8) - indent.size();
        std::size_t length = sentence.size();
        if (length > room) {
            const std::size_t blank = sentence.rfind(' ', room);
            length = blank == std::string_view::npos || blank == 0 ? room : blank;
        }
        lines.push_back(std::string(indent) + std::string(sentence.substr(0, length)));
        sentence.remove_prefix(length);
        sentence.remove_prefix(std::min(sentence.find_first_not_of(' '), sentence.size()));
    }
    return lines;
}

std::string fit(std::string_view line, std::size_t columns) {
    std::string out;
    for (const char c : line)
        out += c >= 0x20 && c <= 0x7E ? c : '?';
    while (out.ends_with(' '))
        out.pop_back();
    if (out.size() > columns) {
        out.resize(columns);
        if (columns > 1)
            out.back() = '~';
    }
    return out;
}

}  // namespace spead::app
