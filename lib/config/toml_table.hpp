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
#include "base/units.hpp"
#include "config/keys.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"

/// Strict reading of TOML tables: every key must be known, every value of its type and range. Internal to
/// lib/config.
namespace spead::config {

/// The text being read: its name in errors, and where each value of the plan stands in it.
class Source {
  public:
    explicit Source(std::string name) : name_(std::move(name)) {}

    /// "file:line:column".
    std::string at(const toml::source_position& position) const;
    void remember(const std::string& path, const toml::source_position& position);
    /// Where the value with this path stands; else the nearest part that has it inside; else the file.
    std::string locate(std::string_view path) const;

  private:
    std::string name_;
    std::map<std::string, std::string, std::less<>> places_;
};

/// One table. Construction refuses unknown keys; each read leaves `out` alone when the key is missing.
/// All errors are UsageError with the position of the key or value.
class TomlTable {
  public:
    /// `path` is the plan's path of the table ("receive[0].heaps"), `head` its name in TOML
    /// ("[receive.heaps]").
    TomlTable(const toml::table& table, Source& source, std::string path, std::string head,
              std::span<const std::string_view> known);

    bool has(std::string_view key) const { return table_.contains(key); }
    /// Throws unless the key is there.
    void require(std::string_view key, std::string_view example) const;

    void read(std::string_view key, std::string& out) const;
    void read(std::string_view key, bool& out) const;
    void read(std::string_view key, double& out, Limits<double> limits) const;
    void read_size(std::string_view key, std::uint64_t& out, Limits<std::uint64_t> limits) const;
    void read_rate(std::string_view key, double& out) const;
    /// `off_word`: "off" is accepted and means 0.
    void read_duration(std::string_view key, double& out, bool off_word) const;
    void read_cpus(std::string_view key, std::vector<unsigned>& out) const;
    void read_strings(std::string_view key, std::vector<std::string>& out) const;

    template <typename T>
    requires std::is_integral_v<T>
    void read(std::string_view key, T& out, Limits<T> limits) const {
        if (const auto value = integer(key, limits))
            out = *value;
    }

    template <typename T>
    void read(std::string_view key, std::optional<T>& out, Limits<T> limits) const {
        if (const auto value = integer(key, limits))
            out = *value;
    }

    template <typename E, std::size_t N>
    void read(std::string_view key, E& out, const std::array<Word<E>, N>& words) const {
        std::string text;
        if (!has(key))
            return;
        read(key, text);
        out = choose(words, text, where(key));
    }

    /// A sub-table written [head.key], or null when there is none.
    const toml::table* sub_table(std::string_view key) const;
    /// The tables of [[key]]; empty when there are none.
    std::vector<const toml::table*> tables(std::string_view key) const;

    /// Position of the key's value; of the table when the key is missing.
    std::string where(std::string_view key) const;
    std::string where() const;
    std::string path(std::string_view key) const;

  private:
    const toml::node* node(std::string_view key) const;
    [[noreturn]] void wrong_type(std::string_view key, const toml::node& node,
                                 std::string_view expected) const;
    [[noreturn]] void unknown(const toml::key& key, std::span<const std::string_view> known) const;

    template <typename T>
    std::optional<T> integer(std::string_view key, Limits<T> limits) const {
        const toml::node* value = node(key);
        if (value == nullptr)
            return std::nullopt;
        return integer_in(key, *value, limits);
    }

    template <typename T>
    T integer_in(std::string_view key, const toml::node& value, Limits<T> limits) const {
        if (!value.is_integer())
            wrong_type(key, value, fmt::format("a whole number, {} to {}", limits.min, limits.max));
        const std::int64_t number = value.as_integer()->get();
        // Signed to unsigned comparisons that cannot go wrong: every limit fits int64.
        if (number < static_cast<std::int64_t>(limits.min) || number > static_cast<std::int64_t>(limits.max))
            throw UsageError(source_.at(value.source().begin),
                             fmt::format("`{}` is {}; give {} to {}", key, number, limits.min, limits.max));
        return static_cast<T>(number);
    }

    const toml::table& table_;
    Source& source_;
    std::string path_;
    std::string head_;
};

}  // namespace spead::config
