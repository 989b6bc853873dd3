// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml_table.hpp"

#include <algorithm>

namespace spead::config {

namespace {

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
            return "a whole number";
        case toml::node_type::floating_point:
            return "a number with a fraction";
        case toml::node_type::boolean:
            return "true or false";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::table:
            return "a table";
        default:
            return "a date or time";
    }
}

/// ", " and the value, if it is short enough to be shown.
std::string shown(const toml::node& node) {
    constexpr std::size_t kLongest = 64;
    if (const auto* text = node.as_string(); text != nullptr && text->get().size() <= kLongest)
        return fmt::format(", \"{}\"", text->get());
    if (const auto* number = node.as_integer(); number != nullptr)
        return fmt::format(", {}", number->get());
    if (const auto* real = node.as_floating_point(); real != nullptr)
        return fmt::format(", {}", real->get());
    return {};
}

std::string bracketed(const TableKeys& table) {
    return table.list ? fmt::format("[[{}]]", table.table) : fmt::format("[{}]", table.table);
}

}  // namespace

std::string Source::at(const toml::source_position& position) const {
    return fmt::format("{}:{}:{}", name_, position.line, position.column);
}

void Source::remember(const std::string& path, const toml::source_position& position) {
    places_[path] = at(position);
}

std::string Source::locate(std::string_view path) const {
    while (!path.empty()) {
        if (const auto found = places_.find(path); found != places_.end())
            return found->second;
        const std::size_t cut =
            path.rfind('.');  // "receive[0].heaps.ring" -> "receive[0].heaps" -> "receive[0]"
        path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
    }
    return name_;
}

TomlTable::TomlTable(const toml::table& table, Source& source, std::string path, std::string head,
                     std::span<const std::string_view> known)
    : table_(table), source_(source), path_(std::move(path)), head_(std::move(head)) {
    if (!path_.empty())
        source_.remember(path_, table_.source().begin);
    const toml::key* first_unknown = nullptr;
    for (auto&& [key, value] : table_) {
        source_.remember(this->path(key.str()), value.source().begin);
        const bool is_known = std::find(known.begin(), known.end(), key.str()) != known.end();
        if (!is_known && (first_unknown == nullptr || key.source().begin < first_unknown->source().begin))
            first_unknown = &key;
    }
    if (first_unknown != nullptr)
        unknown(*first_unknown, known);
}

void TomlTable::unknown(const toml::key& key, std::span<const std::string_view> known) const {
    const std::string_view word = key.str();
    const std::string where = source_.at(key.source().begin);
    const std::string place = head_.empty() ? std::string("the file") : head_;
    // A near key of this table first, then what the word is called here, then the table it belongs to.
    if (const std::string near = hint(word, known); !near.empty())
        throw UsageError(where, fmt::format("`{}` is not a key of {}{}", word, place, near));
    for (const Alias& alias : kAliases)
        if (alias.habit == word)
            throw UsageError(where,
                             fmt::format("`{}` is not a key of {}; it is {}", word, place, alias.here));
    for (const TableKeys& other : kTables)
        if (std::find(other.keys.begin(), other.keys.end(), word) != other.keys.end())
            throw UsageError(where, fmt::format("`{}` is not a key of {}; it belongs in {}", word, place,
                                                bracketed(other)));
    throw UsageError(where,
                     fmt::format("`{}` is not a key of {}; the keys are {}", word, place, list_of(known)));
}

const toml::node* TomlTable::node(std::string_view key) const {
    return table_.get(key);
}

std::string TomlTable::path(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string TomlTable::where(std::string_view key) const {
    const toml::node* value = node(key);
    return value == nullptr ? where() : source_.at(value->source().begin);
}

std::string TomlTable::where() const {
    return source_.at(table_.source().begin);
}

void TomlTable::require(std::string_view key, std::string_view example) const {
    if (!has(key))
        throw UsageError(where(),
                         fmt::format("{} has no `{}`; add one, as in {} = {}", head_, key, key, example));
}

void TomlTable::wrong_type(std::string_view key, const toml::node& value, std::string_view expected) const {
    throw UsageError(source_.at(value.source().begin),
                     fmt::format("`{}` is {}{}; give {}", key, type_name(value), shown(value), expected));
}

void TomlTable::read(std::string_view key, std::string& out) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (!value->is_string())
        wrong_type(key, *value,
                   value->is_integer()
                       ? fmt::format("a string in quotes, as in {} = \"{}\"", key, value->as_integer()->get())
                       : std::string("a string in quotes"));
    out = value->as_string()->get();
}

void TomlTable::read(std::string_view key, bool& out) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (!value->is_boolean())
        wrong_type(key, *value, "true or false");
    out = value->as_boolean()->get();
}

void TomlTable::read(std::string_view key, double& out, Limits<double> limits) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (!value->is_number())
        wrong_type(key, *value, fmt::format("a number, {} to {}", limits.min, limits.max));
    const double number = *value->value<double>();
    if (!limits.hold(number))
        throw UsageError(where(key),
                         fmt::format("`{}` is {}; give {} to {}", key, number, limits.min, limits.max));
    out = number;
}

void TomlTable::read_size(std::string_view key, std::uint64_t& out, Limits<std::uint64_t> limits) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    std::uint64_t size = 0;
    if (value->is_integer()) {
        const std::int64_t number = value->as_integer()->get();
        if (number < 0)
            throw UsageError(where(key), fmt::format("`{}` is {}, and no size is negative", key, number));
        size = static_cast<std::uint64_t>(number);
    } else if (value->is_string()) {
        size = parse_size(value->as_string()->get(), where(key));
    } else {
        wrong_type(key, *value, "bytes as a whole number, or a string with a unit such as \"16MiB\"");
    }
    if (!limits.hold(size))
        throw UsageError(where(key), fmt::format("`{}` is {}; give {} to {}", key, human_size(size),
                                                 human_size(limits.min), human_size(limits.max)));
    out = size;
}

void TomlTable::read_rate(std::string_view key, double& out) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (value->is_string())
        out = parse_rate(value->as_string()->get(), where(key));
    else if (value->is_number())
        out = parse_rate(fmt::format("{}", *value->value<double>()), where(key));
    else
        wrong_type(key, *value, "a string with a unit such as \"10Gbps\", or 0");
}

void TomlTable::read_duration(std::string_view key, double& out, bool off_word) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (value->is_string()) {
        const std::string& text = value->as_string()->get();
        out = off_word && text == "off" ? 0 : parse_duration(text, where(key));
    } else if (value->is_number()) {
        const double seconds = *value->value<double>();
        if (!(seconds >= 0 && seconds <= kMaxDuration))
            throw UsageError(where(key),
                             fmt::format("`{}` is {} seconds; give 0 to {}", key, seconds, kMaxDuration));
        out = seconds;
    } else {
        wrong_type(key, *value, "seconds as a number, or a string with a unit such as \"250ms\"");
    }
}

void TomlTable::read_cpus(std::string_view key, std::vector<unsigned>& out) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (!value->is_array())
        wrong_type(key, *value, "a list of CPU numbers such as [1, 2]");
    out.clear();
    for (const toml::node& element : *value->as_array())
        out.push_back(integer_in(key, element, kCpu));
}

void TomlTable::read_strings(std::string_view key, std::vector<std::string>& out) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return;
    if (!value->is_array())
        wrong_type(key, *value, "a list of strings such as [\"239.1.2.3:7148\"]");
    out.clear();
    for (const toml::node& element : *value->as_array()) {
        if (!element.is_string())
            wrong_type(key, element, "strings in the list");
        source_.remember(fmt::format("{}[{}]", path(key), out.size()), element.source().begin);
        out.push_back(element.as_string()->get());
    }
}

const toml::table* TomlTable::sub_table(std::string_view key) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return nullptr;
    const std::string name =
        head_.empty() ? std::string(key) : fmt::format("{}.{}", head_.substr(2, head_.size() - 4), key);
    if (!value->is_table())
        throw UsageError(
            where(key),
            fmt::format("`{}` is {}; it is a table of its own here: write [{}] and its keys below it", key,
                        value->is_array_of_tables() ? "a list of tables" : type_name(*value), name));
    return value->as_table();
}

std::vector<const toml::table*> TomlTable::tables(std::string_view key) const {
    const toml::node* value = node(key);
    std::vector<const toml::table*> list;
    if (value == nullptr)
        return list;
    const toml::array* array = value->as_array();
    const bool good = array != nullptr && std::all_of(array->begin(), array->end(),
                                                      [](const toml::node& node) { return node.is_table(); });
    if (!good)
        throw UsageError(where(key),
                         fmt::format("`{}` is {}; there may be several, so write [[{}]] with two brackets",
                                     key, type_name(*value), key));
    for (const toml::node& element : *array)
        list.push_back(element.as_table());
    return list;
}

}  // namespace spead::config
