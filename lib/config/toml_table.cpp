// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml_table.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/units.hpp"

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

/// Returns ", " and the value, if it is short enough to be shown.
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

/// Returns "[[receive]]"; "the file" for its top.
std::string head_of(std::string_view table) {
    return table.empty() ? std::string("the file") : section_of(table).head();
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
            path.rfind('.');  // "receive[0].heaps.queue_depth" -> "receive[0].heaps" -> "receive[0]"
        path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
    }
    return name_;
}

TomlTable::TomlTable(const toml::table& tree, Source& source, std::string path, std::string_view table)
    : table_(tree), source_(source), path_(std::move(path)), name_(table) {
    if (!path_.empty())
        source_.remember(path_, table_.source().begin);
    const std::vector<std::string_view> known = names_in(table);
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
    const std::string refusal = fmt::format("`{}` is not a key of {}", word, head_of(name_));
    // A near key of this table first, then what the word is called here, then the tables it belongs to.
    if (const std::string near = hint(word, known); !near.empty())
        throw UsageError(where, refusal + near);
    if (const std::string here = name_here(word); !here.empty())
        throw UsageError(where, fmt::format("{}; it is {}", refusal, here));
    std::vector<std::string> others;
    for (const Section& other : sections())
        if (std::ranges::find(other.keys, word, &Key::name) != other.keys.end())
            others.push_back(other.head());
    const std::vector<std::string_view> heads(others.begin(), others.end());
    if (!heads.empty())
        throw UsageError(where, fmt::format("{}; it belongs in {}", refusal, list_of(heads)));
    throw UsageError(where, fmt::format("{}; the keys are {}", refusal, list_of(known)));
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

void TomlTable::wrong_type(std::string_view key, const toml::node& value, std::string_view expected) const {
    throw UsageError(source_.at(value.source().begin),
                     fmt::format("`{}` is {}{}; give {}", key, type_name(value), shown(value), expected));
}

Value TomlTable::value(const Key& key) const {
    const toml::node* value = node(key.name);
    if (value != nullptr)
        return read(key, *value);
    if (key.required)
        throw UsageError(where(), fmt::format("{} has no `{}`; add one, as in {} = {}", head_of(name_),
                                              key.name, key.name, key.example));
    return {};
}

std::optional<std::int64_t> TomlTable::version() const {
    const toml::node* value = node("version");
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_integer())
        wrong_type("version", *value, "a whole number");
    return value->as_integer()->get();
}

Value TomlTable::read(const Key& key, const toml::node& value) const {
    switch (key.field.type) {
        case KeyType::flag:
            if (!value.is_boolean())
                wrong_type(key.name, value, accepted(key));
            return value.as_boolean()->get();
        case KeyType::integer:
        case KeyType::cpu:
            return read_integer(key, value);
        case KeyType::real:
            if (!value.is_number())
                wrong_type(key.name, value, fmt::format("a number, {}", accepted(key)));
            return in_range(key, value, *value.value<double>());
        case KeyType::size:
            return read_size(key, value);
        case KeyType::rate:
            return read_rate(key, value);
        case KeyType::time:
            return read_time(key, value);
        case KeyType::cpus:
            return read_cpus(key, value);
        case KeyType::texts:
        case KeyType::endpoints:
            return read_texts(key, value);
        case KeyType::text:
        case KeyType::choice:
            break;
    }
    return read_text(key, value);
}

template <typename T>
T TomlTable::in_range(const Key& key, const toml::node& place, T number) const {
    if (const std::string wrong = complaint(key, number); !wrong.empty())
        throw UsageError(source_.at(place.source().begin), wrong);
    return number;
}

Value TomlTable::read_integer(const Key& key, const toml::node& value) const {
    if (!value.is_integer())
        wrong_type(key.name, value, fmt::format("a whole number, {}", accepted(key)));
    const std::int64_t number = in_range(key, value, value.as_integer()->get());
    if (key.range.min < 0)
        return number;
    return static_cast<std::uint64_t>(number);
}

Value TomlTable::read_size(const Key& key, const toml::node& value) const {
    if (value.is_string())
        return in_range(key, value, parse_size(value.as_string()->get(), where(key.name)));
    if (!value.is_integer())
        wrong_type(key.name, value, "bytes as a whole number, or a string with a unit such as \"16MiB\"");
    const std::int64_t number = value.as_integer()->get();
    if (number < 0)
        throw UsageError(where(key.name),
                         fmt::format("`{}` is {}, and a size cannot be negative", key.name, number));
    return in_range(key, value, static_cast<std::uint64_t>(number));
}

Value TomlTable::read_rate(const Key& key, const toml::node& value) const {
    if (value.is_string())
        return parse_rate(value.as_string()->get(), where(key.name));
    if (!value.is_number())
        wrong_type(key.name, value, "a string with a unit such as \"10Gbps\", or 0");
    return parse_rate(fmt::format("{}", *value.value<double>()), where(key.name));
}

Value TomlTable::read_time(const Key& key, const toml::node& value) const {
    if (value.is_number())
        return in_range(key, value, *value.value<double>());
    if (!value.is_string())
        wrong_type(key.name, value, "seconds as a number, or a string with a unit such as \"250ms\"");
    const std::string& text = value.as_string()->get();
    return in_range(key, value, key.off_word && text == "off" ? 0 : parse_duration(text, where(key.name)));
}

Value TomlTable::read_text(const Key& key, const toml::node& value) const {
    if (!value.is_string())
        wrong_type(key.name, value,
                   value.is_integer() ? fmt::format("a string in quotes, as in {} = \"{}\"", key.name,
                                                    value.as_integer()->get())
                                      : std::string("a string in quotes"));
    const std::string& text = value.as_string()->get();
    if (key.check != nullptr)
        key.check(text, where(key.name));
    return text;
}

Value TomlTable::read_cpus(const Key& key, const toml::node& value) const {
    if (!value.is_array())
        wrong_type(key.name, value, "a list of CPU numbers such as [1, 2]");
    std::vector<unsigned> list;
    for (const toml::node& element : *value.as_array())
        list.push_back(static_cast<unsigned>(std::get<std::uint64_t>(read_integer(key, element))));
    return list;
}

Value TomlTable::read_texts(const Key& key, const toml::node& value) const {
    if (!value.is_array())
        wrong_type(key.name, value, fmt::format("a list of strings such as {}", key.example));
    std::vector<std::string> list;
    for (const toml::node& element : *value.as_array()) {
        if (!element.is_string())
            wrong_type(key.name, element, "strings in the list");
        source_.remember(fmt::format("{}[{}]", path(key.name), list.size()), element.source().begin);
        list.push_back(element.as_string()->get());
    }
    return list;
}

const toml::table* TomlTable::sub_table(std::string_view key) const {
    const toml::node* value = node(key);
    if (value == nullptr)
        return nullptr;
    const std::string name = name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
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
                         fmt::format("`{}` is {}, and there may be several; write [[{}]] with two brackets",
                                     key, type_name(*value), key));
    for (const toml::node& element : *array)
        list.push_back(element.as_table());
    return list;
}

}  // namespace spead::config
