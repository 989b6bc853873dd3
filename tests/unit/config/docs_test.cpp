// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "config/keys.hpp"

// docs/configuration.md says of each key what its table says, and no page names a key that does not exist.
namespace spead::config {
namespace {

namespace fs = std::filesystem;

fs::path source_root() {
    const char* root = std::getenv("DPDK_SPEAD_SOURCE_ROOT");
    if (root == nullptr)
        throw std::runtime_error("set DPDK_SPEAD_SOURCE_ROOT to the top of the tree");
    return root;
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
        lines.push_back(line);
    return lines;
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Returns the cells of a row. A bar within a code span separates no cells.
std::vector<std::string> cells_of(const std::string& row) {
    std::vector<std::string> cells;
    bool code = false;
    std::string cell;
    for (const char c : row.substr(1)) {
        code = c == '`' ? !code : code;
        if (c == '|' && !code) {
            cells.push_back(trimmed(cell));
            cell.clear();
        } else {
            cell += c;
        }
    }
    return cells;
}

std::string without_code_marks(std::string text) {
    std::erase(text, '`');
    return text;
}

enum Column : std::size_t { kKey, kValue, kDefault, kChange, kOption, kMeaning, kColumns };

/// Returns the rows of the page's table by table and key: "receive.heaps" -> "queue_depth" -> cells.
std::map<std::string, std::map<std::string, std::vector<std::string>>> documented() {
    std::map<std::string, std::map<std::string, std::vector<std::string>>> rows;
    std::string table;
    for (const std::string& line : lines_of(source_root() / "docs/configuration.md")) {
        if (!line.starts_with("|"))
            continue;
        const std::vector<std::string> cells = cells_of(line);
        const std::string name = cells.empty() ? "" : cells[kKey];
        if (name.starts_with("**[")) {
            table = name;
            std::erase_if(table, [](char c) { return c == '*' || c == '[' || c == ']'; });
        } else if (!table.empty()) {
            EXPECT_TRUE(rows[table].emplace(without_code_marks(name), cells).second)
                << name << " stands twice";
        }
    }
    return rows;
}

std::string value_cell(const Key& key) {
    if (key.field.type != KeyType::choice)
        return accepted(key);
    std::vector<std::string> words;
    for (const std::string_view word : key.field.choices)
        words.push_back(fmt::format("`{}`", word));
    return fmt::format("{} or {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

std::string default_cell(const Section& section, const Key& key) {
    if (key.required)
        return "";
    if (!key.unset.empty())
        return std::string(key.unset);
    const std::string text = file_text(key, default_value(section, key));
    return text.starts_with('"') || text.starts_with('[') ? fmt::format("`{}`", text) : text;
}

std::string change_cell(const Key& key) {
    return key.change == Change::immediate ? "yes" : key.change == Change::anew ? "anew" : "no";
}

TEST(Docs, TheTableOfConfigurationSaysWhatTheKeysSay) {
    auto rows = documented();
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            auto& table = rows[std::string(section.table)];
            const std::vector<std::string> cells = table[std::string(key.name)];
            table.erase(std::string(key.name));
            const std::string expected = fmt::format(
                "| `{}` | {} | {} | {} | {} | {}", key.name, value_cell(key), default_cell(section, key),
                change_cell(key), key.option.empty() ? "" : fmt::format("`{}`", key.option), key.help);
            SCOPED_TRACE(fmt::format("{}: the row begins with\n{}", section.head(), expected));
            if (cells.size() != kColumns) {
                ADD_FAILURE() << "there is no such row, or it has not " << kColumns << " cells";
                continue;
            }
            EXPECT_EQ(without_code_marks(cells[kValue]), without_code_marks(value_cell(key)));
            EXPECT_EQ(cells[kDefault], default_cell(section, key));
            EXPECT_EQ(cells[kChange], change_cell(key));
            EXPECT_THAT(without_code_marks(cells[kOption]), testing::StartsWith(std::string(key.option)));
            EXPECT_THAT(without_code_marks(cells[kMeaning]), testing::StartsWith(std::string(key.help)));
        }
    for (const auto& [table, left] : rows)
        for (const auto& [name, cells] : left)
            ADD_FAILURE() << "[" << table << "] has no key `" << name << "`";
}

/// Returns the texts between single backticks, on one line.
std::vector<std::string> code_spans(const std::string& line) {
    static const std::regex kSpan("`([^`]+)`");
    std::vector<std::string> spans;
    for (std::sregex_iterator found(line.begin(), line.end(), kSpan), none; found != none; ++found)
        spans.push_back((*found)[1]);
    return spans;
}

/// Returns the words between double quotes in the program's sources, without the configuration's. They name
/// counters, findings, states, metrics and fields of reports.
const std::set<std::string>& quoted_words() {
    static const std::set<std::string> kWords = [] {
        static const std::regex kQuoted("\"([a-z][a-z0-9_]*)\"");
        std::set<std::string> words;
        for (const char* const room : {"app", "lib", "drivers"})
            for (const auto& entry : fs::recursive_directory_iterator(source_root() / room)) {
                if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp")
                    continue;
                if (entry.path().string().find("lib/config") != std::string::npos)
                    continue;
                for (const std::string& line : lines_of(entry.path()))
                    for (std::sregex_iterator found(line.begin(), line.end(), kQuoted), none; found != none;
                         ++found)
                        words.insert((*found)[1]);
            }
        return words;
    }();
    return kWords;
}

/// Returns whether some table has the key, with its path within a stream or without, or a key has the choice.
bool is_key_or_choice(const std::string& word) {
    return std::ranges::any_of(sections(), [&word](const Section& section) {
        return std::ranges::any_of(section.keys, [&](const Key& key) {
            return word == key.name || word == section.prefix() + std::string(key.name) ||
                   std::ranges::find(key.field.choices, word) != key.field.choices.end();
        });
    });
}

/// Lists names of other programs that the pages use.
const std::set<std::string> kForeign{"rte_eth_stats", "vm.nr_hugepages"};

/// Returns the part of a code span that can only be a key's name and is none; "" if there is no such part.
std::string wrong_key(const std::string& span) {
    std::smatch found;
    static const std::regex kInTable(R"(\[+([a-z]+(?:\.[a-z]+)?)\]+ ([a-z_]+))");
    if (std::regex_match(span, found, kInTable)) {
        const std::string table = found[1];
        const auto section = std::ranges::find(sections(), table, &Section::table);
        const bool known =
            section != sections().end() &&
            std::ranges::find(section->keys, found[2].str(), &Key::name) != section->keys.end();
        return known ? "" : span;
    }
    static const std::regex kAssigned(R"(([a-z_]+(?:\.[a-z_]+)?) = .+)");
    if (std::regex_match(span, found, kAssigned))
        return is_key_or_choice(found[1]) || found[1] == "version" || kForeign.contains(found[1]) ? "" : span;
    static const std::regex kBelow(R"((?:heaps|chunk|sink|capture)\.([a-z_]+))");
    if (std::regex_match(span, found, kBelow))
        return is_key_or_choice(span) || quoted_words().contains(found[1]) || found[1] == "jsonl" ? "" : span;
    return {};
}

/// Lists the pages that name counters, states, findings and keys, and hardly any other word.
const std::set<std::string> kPagesOfNames{"capture.md", "configuration.md", "counters.md", "health.md",
                                          "prompt.md"};
TEST(Docs, PagesNameNoKeyThatDoesNotExist) {
    std::vector<fs::path> pages{source_root() / "README.md"};
    for (const auto& entry : fs::directory_iterator(source_root() / "docs"))
        if (entry.path().extension() == ".md")
            pages.push_back(entry.path());
    ASSERT_GT(pages.size(), 10U);
    static const std::regex kCompound("[a-z]+(?:_[a-z]+)+");
    for (const fs::path& page : pages) {
        const bool of_names = kPagesOfNames.contains(page.filename());
        std::size_t number = 0;
        for (const std::string& line : lines_of(page)) {
            number++;
            for (const std::string& span : code_spans(line)) {
                SCOPED_TRACE(fmt::format("{}:{}", page.filename().string(), number));
                EXPECT_EQ(wrong_key(span), "");
                const bool known = !of_names || !std::regex_match(span, kCompound) ||
                                   is_key_or_choice(span) || quoted_words().contains(span) ||
                                   kForeign.contains(span);
                EXPECT_TRUE(known) << "`" << span << "` is no key, and no name of the program's";
            }
        }
    }
}

TEST(Docs, AKeyThatDoesNotExistIsFound) {
    for (const char* const good : {"[receive.heaps] queue_depth", "heaps.queue_depth", "pacer = \"hardware\"",
                                   "[[send]]", "heaps.queued", "heaps.timeout = 5"})
        EXPECT_EQ(wrong_key(good), "");
    for (const char* const bad : {"[receive.heaps] queue_depths", "heaps.ring_heaps", "pace = \"hardware\"",
                                  "[receiver] queue_depth", "sink.dir = \"x\""})
        EXPECT_EQ(wrong_key(bad), bad);
}

}  // namespace
}  // namespace spead::config
