// SPDX-License-Identifier: BSD-3-Clause
#include "config/edit.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "config/config.hpp"
#include "config/copy_rules.hpp"
#include "config/keys.hpp"
#include "runtime/paths.hpp"

namespace spead::config {

namespace {

using runtime::Plan;

/// Holds the words for [[receive]] and [[send]] in messages.
struct Noun {
    std::string_view table;
    std::string_view noun;
};
constexpr Noun kStream{"receive", "stream"};
constexpr Noun kSender{"send", "sender"};

toml::table tree_of(const Plan& plan) {
    return toml::parse(to_toml(plan));
}

/// Reads the tree as if it were a file, and keeps what a file does not say of `before`. Its lines belong to
/// no file, so errors lose their place and keep their words. `changed`: the stream that changes, if one does.
Plan plan_of(const toml::table& tree, const Plan& before, const std::string& changed = {}) {
    std::ostringstream text;
    text << toml::toml_formatter(tree, toml::format_flags::none);
    try {
        Plan plan = parse_text(text.str(), "", std::span(&changed, 1));
        plan.shard = before.shard;
        return plan;
    } catch (const UsageError& error) {
        const std::string_view what = error.what();
        const std::size_t place = error.where().empty() ? 0 : error.where().size() + 2;
        throw UsageError(std::string(what.substr(std::min(place, what.size()))));
    }
}

toml::array& list_of_parts(toml::table& tree, const Noun& part) {
    tree.insert(part.table, toml::array{});
    return *tree.get_as<toml::array>(part.table);
}

std::string name_of(const toml::node& entry) {
    return (*entry.as_table())["name"].value_or(std::string{});
}

std::size_t index_of(const toml::array& list, const Noun& part, const std::string& name) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.size(); i++) {
        names.push_back(name_of(list[i]));
        if (names.back() == name)
            return i;
    }
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (known.empty())
        throw_error("", "there is no {0} `{1}`: none is configured; `{2} add` makes one", part.noun, name,
                    part.table == kStream.table ? "stream" : "send");
    throw_error("", "there is no {} `{}`{}; there {} {}", part.noun, name, hint(name, known),
                known.size() == 1 ? "is" : "are", list_of(known));
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return number;
}

std::optional<double> real_number(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

/// Parses "3-5" as CPUs; leaves other texts to the file's rules.
std::optional<std::pair<std::int64_t, std::int64_t>> cpu_range(std::string_view text) {
    const std::size_t dash = text.find('-', 1);
    if (dash == std::string_view::npos)
        return std::nullopt;
    const auto first = whole_number(text.substr(0, dash));
    const auto last = whole_number(text.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > std::int64_t{kCpu.max})
        return std::nullopt;
    return std::pair(*first, *last);
}

toml::array list_value(const Key& key, std::string_view text) {
    toml::array list;
    if (text.empty())
        throw_usage("", "`{}` is empty; give a list with commas, or `default`", key.name);
    const bool cpus = key.field.type == KeyType::cpus;
    for (const std::string& element : split(text)) {
        const auto range = cpus ? cpu_range(element) : std::nullopt;
        const auto number = cpus ? whole_number(element) : std::nullopt;
        if (range) {
            for (std::int64_t cpu = range->first; cpu <= range->second; cpu++)
                list.push_back(cpu);
        } else if (number) {
            list.push_back(*number);
        } else {
            list.push_back(element);
        }
    }
    return list;
}

/// Puts the typed value under the key, in the file's type. A value that does not fit stays a string, and the
/// file's reader refuses it.
void put(toml::table& table, const Key& key, const std::string& text) {
    const auto insert = [&](auto&& value) {
        table.insert_or_assign(key.name, std::forward<decltype(value)>(value));
    };
    switch (key.field.type) {
        case KeyType::cpus:
        case KeyType::texts:
        case KeyType::endpoints:
            return insert(list_value(key, text));
        case KeyType::flag:
            if (text == "true" || text == "false")
                return insert(text == "true");
            return insert(text);
        case KeyType::integer:
        case KeyType::cpu:
        case KeyType::real:
            if (const auto number = whole_number(text))
                return insert(*number);
            if (const auto number = real_number(text); number && key.field.type == KeyType::real)
                return insert(*number);
            return insert(text);
        default:
            return insert(text);
    }
}

void check_key(const Noun& part, const std::string& key) {
    const std::vector<std::string> keys = key_paths(part.table);
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
        return;
    // A key of a subtable, without its table.
    for (const std::string& known : keys)
        if (known.ends_with("." + key))
            throw_usage("", "`{}` is not a key of a {}; write `{}`", key, part.noun, known);
    const std::vector<std::string_view> known(keys.begin(), keys.end());
    if (const std::string near = hint(key, known); !near.empty())
        throw_usage("", "`{}` is not a key of a {}{}", key, part.noun, near);
    if (const std::string here = name_here(key.substr(key.rfind('.') + 1)); !here.empty())
        throw_usage("", "`{}` is not a key of a {}; it is {}", key, part.noun, here);
    throw_usage("", "`{}` is not a key of a {}; the keys are {}", key, part.noun, list_of(known));
}

/// Refuses other keys of a table that goes with its own key.
void only_default(const std::vector<Setting>& settings, const std::string& own) {
    const std::string table = own.substr(0, own.find('.') + 1);
    for (const auto& [key, value] : settings)
        if (key != own && key.starts_with(table) && value != "default")
            throw_usage("",
                        "`{} default` removes all keys of `{}`, and `{} {}` sets one of them; leave one of "
                        "the two out",
                        own, table.substr(0, table.size() - 1), key, value);
}

void apply(toml::table& entry, const Noun& part, const std::vector<Setting>& settings) {
    for (auto setting = settings.begin(); setting != settings.end(); ++setting) {
        const auto& [key, value] = *setting;
        check_key(part, key);
        if (std::any_of(settings.begin(), setting,
                        [&setting](const Setting& s) { return s.first == setting->first; }))
            throw_usage("", "`{}` is given twice; give it once", key);
        toml::table* table = &entry;
        std::string last = key;
        if (const std::size_t dot = key.find('.'); dot != std::string::npos) {
            const std::string sub = key.substr(0, dot);
            last = key.substr(dot + 1);
            entry.insert(sub, toml::table{});
            table = entry.get_as<toml::table>(sub);
        }
        // Without this key, a stream has no such table.
        const bool tables_own = last != key && find_key(part.table, key)->required;
        if (value == "default" && tables_own) {
            only_default(settings, key);
            table->clear();
        } else if (value == "default") {
            table->erase(last);
        } else {
            put(*table, *find_key(part.table, key), value);
        }
        if (table != &entry && table->empty())
            entry.erase(key.substr(0, key.find('.')));
    }
}

/// Takes the port out of a stream that has the ports of two paths now, if it is the first one, or what the
/// stream had before (`former`).
void leave_out_port(toml::table& entry, bool former) {
    const toml::array* const paths = entry["paths"].as_array();
    if (paths != nullptr && !paths->empty() &&
        (former || paths->front().value<std::string>() == entry["port"].value<std::string>()))
        entry.erase("port");
}

/// Gives a stream the defaults of its paths and their skew. `was`: what it had before. Values that were no
/// defaults of that stay.
void take_path_defaults(toml::table& entry, const runtime::ReceivePlan& was,
                        const std::vector<Setting>& settings) {
    const bool had_paths = runtime::has_two_paths(was);
    const bool has_paths = entry.contains("paths");
    const auto says = [&settings](std::string_view key) {
        return std::ranges::any_of(settings, [key](const Setting& setting) { return setting.first == key; });
    };
    // One path has no skew.
    if (had_paths && !has_paths && !says("path_skew"))
        entry.erase("path_skew");
    toml::table* const heaps = entry["heaps"].as_table();
    if (heaps == nullptr)
        return;
    const auto forget = [&](std::string_view key, bool had_default) {
        if (had_default && !says(fmt::format("heaps.{}", key)))
            heaps->erase(key);
    };
    const runtime::ReceivePlan one_path;
    if (has_paths != had_paths) {
        forget("max_live", was.max_live == (had_paths ? runtime::kPathLive : one_path.max_live));
        forget("history", was.history == (had_paths ? runtime::kPathHistory : one_path.history));
    }
    forget("history_time",
           was.history_time == (had_paths ? path_history_time(was.path_skew) : one_path.history_time));
}

Plan add(const Plan& plan, const Noun& part, const std::string& name, const std::string& port,
         const std::string& endpoints, const std::vector<Setting>& settings) {
    toml::table tree = tree_of(plan);
    toml::array& list = list_of_parts(tree, part);
    for (const toml::node& entry : list)
        if (name_of(entry) == name)
            throw_error("",
                        "a {0} `{1}` exists already; change it with `{2} set {1} ...`, or give another name",
                        part.noun, name, part.table == kStream.table ? "stream" : "send");
    toml::table entry{{"name", name},
                      {"port", port},
                      {"endpoints", list_value(*find_key(part.table, "endpoints"), endpoints)}};
    apply(entry, part, settings);
    leave_out_port(entry, false);
    list.push_back(std::move(entry));
    complete_copies(tree);
    return plan_of(tree, plan);
}

Plan set(const Plan& plan, const Noun& part, const std::string& name, const std::vector<Setting>& settings) {
    toml::table tree = tree_of(plan);
    toml::array& list = list_of_parts(tree, part);
    const std::size_t index = index_of(list, part, name);
    toml::table& entry = *list[index].as_table();
    const auto first_path = entry["paths"][0].value<std::string>();
    apply(entry, part, settings);
    if (part.table == kStream.table)
        take_path_defaults(entry, plan.receives[index], settings);
    if (first_path && !entry.contains("paths") && !entry.contains("port"))
        entry.insert("port", *first_path);
    const bool says_port =
        std::ranges::any_of(settings, [](const Setting& setting) { return setting.first == "port"; });
    leave_out_port(entry, !says_port);
    complete_copies(tree);
    return plan_of(tree, plan, part.table == kStream.table ? name : std::string());
}

Plan remove(const Plan& plan, const Noun& part, const std::string& name) {
    toml::table tree = tree_of(plan);
    toml::array& list = list_of_parts(tree, part);
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(index_of(list, part, name)));
    if (list.empty())
        tree.erase(part.table);
    return plan_of(tree, plan);
}

const runtime::ReceivePlan& stream_of(const Plan& plan, const std::string& name) {
    toml::table tree = tree_of(plan);
    return plan.receives[index_of(list_of_parts(tree, kStream), kStream, name)];
}

/// Returns the list of endpoints without those that go. Ranges that lose none keep their words.
std::string without(const std::vector<std::string>& texts, const std::vector<bool>& goes) {
    std::vector<std::string> left;
    std::size_t at = 0;
    for (const std::string& text : texts) {
        const std::vector<Endpoint> all = parse_endpoints(text);
        std::vector<Endpoint> staying;
        for (const Endpoint& e : all)
            if (!goes[at++])
                staying.push_back(e);
        if (staying.size() == all.size())
            left.push_back(text);
        else
            std::ranges::move(endpoint_ranges(staying), std::back_inserter(left));
    }
    return fmt::format("{}", fmt::join(left, ","));
}

}  // namespace

Plan add_stream(const Plan& plan, const std::string& name, const std::string& port,
                const std::string& endpoints, const std::vector<Setting>& settings) {
    return add(plan, kStream, name, port, endpoints, settings);
}

Plan set_stream(const Plan& plan, const std::string& name, const std::vector<Setting>& settings) {
    return set(plan, kStream, name, settings);
}

Plan delete_stream(const Plan& plan, const std::string& name) {
    return remove(plan, kStream, name);
}

Plan add_send(const Plan& plan, const std::string& name, const std::string& port,
              const std::string& endpoints, const std::vector<Setting>& settings) {
    return add(plan, kSender, name, port, endpoints, settings);
}

Plan set_send(const Plan& plan, const std::string& name, const std::vector<Setting>& settings) {
    return set(plan, kSender, name, settings);
}

Plan delete_send(const Plan& plan, const std::string& name) {
    return remove(plan, kSender, name);
}

Plan add_endpoints(const Plan& plan, const std::string& stream, const std::string& range) {
    const runtime::ReceivePlan& r = stream_of(plan, stream);
    const auto with_range = [&range](std::vector<std::string> texts) {
        for (std::string& text : split(range))
            texts.push_back(std::move(text));
        return fmt::format("{}", fmt::join(texts, ","));
    };
    std::vector<Setting> settings{{"endpoints", with_range(r.endpoint_texts)}};
    if (r.path_endpoints == r.endpoints)
        settings.emplace_back("path_endpoints", with_range(r.path_endpoint_texts));
    else if (!r.path_endpoints.empty())
        throw_error("",
                    "each endpoint of stream `{0}` has a twin on its second path, and that of {1} is not "
                    "known; add both at once, with the twin in place of TWIN: `stream set {0} endpoints {2} "
                    "path_endpoints {3},TWIN`",
                    stream, range, settings.front().second, fmt::join(r.path_endpoint_texts, ","));
    return set_stream(plan, stream, settings);
}

Plan delete_endpoints(const Plan& plan, const std::string& stream, const std::string& range) {
    const runtime::ReceivePlan& r = stream_of(plan, stream);
    std::vector<bool> goes(r.endpoints.size());
    for (const std::string& text : split(range))
        for (const Endpoint& endpoint : parse_endpoints(text)) {
            const auto found = std::find(r.endpoints.begin(), r.endpoints.end(), endpoint);
            if (found == r.endpoints.end())
                throw_error("", "stream `{}` has no endpoint {}; it has {}", stream, to_string(endpoint),
                            fmt::join(r.endpoint_texts, " "));
            goes[static_cast<std::size_t>(found - r.endpoints.begin())] = true;
        }
    if (std::ranges::count(goes, false) == 0)
        throw_error("",
                    "stream `{0}` would have no endpoint left; `stream delete {0}` removes it, `stream stop "
                    "{0}` stops it",
                    stream);
    std::vector<Setting> settings{{"endpoints", without(r.endpoint_texts, goes)}};
    if (!r.path_endpoints.empty())
        settings.emplace_back("path_endpoints", without(r.path_endpoint_texts, goes));
    return set_stream(plan, stream, settings);
}

void check_stream_key(const std::string& key) {
    check_key(kStream, key);
}

void check_send_key(const std::string& key) {
    check_key(kSender, key);
}

std::vector<std::string> endpoint_ranges(const std::vector<Endpoint>& endpoints) {
    std::vector<std::string> ranges;
    for (std::size_t i = 0; i < endpoints.size();) {
        std::size_t n = 1;
        // A range stays on one side of the multicast block's edge, as its reader wants it.
        while (i + n < endpoints.size() && n <= kMaxEndpointRange &&
               endpoints[i + n].port == endpoints[i].port && endpoints[i + n].source == endpoints[i].source &&
               endpoints[i + n].address == endpoints[i].address.after(static_cast<std::uint32_t>(n)) &&
               endpoints[i + n].address > endpoints[i].address &&
               endpoints[i + n].address.is_multicast() == endpoints[i].address.is_multicast())
            n++;
        const std::string source =
            endpoints[i].has_source() ? "@" + to_string(endpoints[i].source) : std::string{};
        ranges.push_back(fmt::format("{}{}:{}{}", bracketed(endpoints[i].address),
                                     n == 1 ? std::string{} : fmt::format("+{}", n - 1), endpoints[i].port,
                                     source));
        i += n;
    }
    return ranges;
}

}  // namespace spead::config
