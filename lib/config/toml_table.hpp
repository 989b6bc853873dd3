// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "base/error.hpp"
#include "config/keys.hpp"

/// Reads TOML tables strictly: every key must be known, every value of its type and range. Internal to
/// lib/config.
namespace spead::config {

/// Holds the name of the text for errors, and the place of each value of the plan in it.
class Source {
  public:
    explicit Source(std::string name) : name_(std::move(name)) {}

    /// Returns "file:line:column".
    std::string at(const toml::source_position& position) const;
    void remember(const std::string& path, const toml::source_position& position);
    /// Returns the place of the value with this path; else of the nearest part around it; else the file.
    std::string locate(std::string_view path) const;

  private:
    std::string name_;
    std::map<std::string, std::string, std::less<>> places_;
};

/// Reads one table. The constructor refuses unknown keys. All errors are UsageError with the position of the
/// key or value.
class TomlTable {
  public:
    /// Takes the plan's path of the table ("receive[0].heaps") and its name in TOML ("receive.heaps"); both
    /// are empty for the file itself.
    TomlTable(const toml::table& tree, Source& source, std::string path, std::string_view table);

    /// Returns the value of the key, of its type and in its range; unset if missing. Throws if a required key
    /// is missing.
    Value value(const Key& key) const;
    /// Returns the file's version; unset if it has none.
    std::optional<std::int64_t> version() const;

    /// Returns the sub-table written [head.key], or null when there is none.
    const toml::table* sub_table(std::string_view key) const;
    /// Returns the tables of [[key]]; empty when there are none.
    std::vector<const toml::table*> tables(std::string_view key) const;

    /// Returns the position of the key's value; of the table when the key is missing.
    std::string where(std::string_view key) const;
    std::string where() const;
    std::string path(std::string_view key) const;

  private:
    const toml::node* node(std::string_view key) const;
    [[noreturn]] void wrong_type(std::string_view key, const toml::node& node,
                                 std::string_view expected) const;
    [[noreturn]] void unknown(const toml::key& key, std::span<const std::string_view> known) const;

    Value read(const Key& key, const toml::node& value) const;
    Value read_integer(const Key& key, const toml::node& value) const;
    Value read_size(const Key& key, const toml::node& value) const;
    Value read_rate(const Key& key, const toml::node& value) const;
    Value read_time(const Key& key, const toml::node& value) const;
    Value read_text(const Key& key, const toml::node& value) const;
    Value read_cpus(const Key& key, const toml::node& value) const;
    Value read_texts(const Key& key, const toml::node& value) const;
    /// Returns the number if it is in range; else throws.
    template <typename T>
    T in_range(const Key& key, const toml::node& place, T number) const;

    const toml::table& table_;
    Source& source_;
    std::string path_;
    std::string name_;  ///< "receive.heaps"
};

/// Reads every key into a plan and checks no rules between them.
runtime::Plan read_plan(const toml::table& tree, Source& source);

}  // namespace spead::config
