// SPDX-License-Identifier: BSD-3-Clause
#include "config/keys.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "config/keys/tables.hpp"

namespace spead::config {

namespace {

struct Alias {
    std::string_view habit;
    std::string_view here;
};
/// Lists aliases that are no options. Those of options follow from the keys.
constexpr std::array kAliases{
    Alias{"packet", "max_packet_size"},
    Alias{"packet_size", "max_packet_size"},
    Alias{"buffer", "buffer_size"},
    Alias{"concurrent_heaps", "max_live in [receive.heaps]"},
    Alias{"address_bits", "addr_bits"},
    Alias{"interface", "device in [[port]]"},
    Alias{"recv", "[[receive]]"},
    Alias{"ports", "[[port]]"},
    Alias{"stream", "[[receive]] or [[send]]"},
    Alias{"streams", "[[receive]] or [[send]]"},
    Alias{"main", "main_cpu"},
    Alias{"cpus", "lcores"},
    Alias{"file", "files in [receive.capture]"},
    Alias{"ring", "queue_depth in [receive.heaps]"},
};

/// Returns an option in the form of a key: "--ring-heaps" as "ring_heaps".
std::string as_key(std::string_view option) {
    std::string word(option.substr(std::min(option.find_first_not_of('-'), option.size())));
    std::replace(word.begin(), word.end(), '-', '_');
    return word;
}

/// Visits the parts of `plan`, a constant or mutable plan.
void visit_parts(auto& plan, const Section& section, const auto& visit) {
    const std::string_view root = section.root();
    const std::string_view inner = section.table.substr(root.size());
    const auto each = [&](auto& list) {
        for (std::size_t i = 0; i < list.size(); i++)
            visit(fmt::format("{}[{}]{}", root, i, inner), &list[i]);
    };
    if (root == "runtime")
        visit("runtime", &plan.runtime);
    else if (root == "memory")
        visit("memory", &plan.memory);
    else if (root == "end")
        visit("end", &plan.end);
    else if (root == "port")
        each(plan.ports);
    else if (root == "send")
        each(plan.sends);
    else
        for (std::size_t i = 0; i < plan.receives.size(); i++)
            if (has_table(plan.receives[i], section.table))
                visit(fmt::format("{}[{}]{}", root, i, inner), &plan.receives[i]);
}

}  // namespace

std::string Section::head() const {
    return list ? fmt::format("[[{}]]", table) : fmt::format("[{}]", table);
}

std::string Section::prefix() const {
    return table == root() ? std::string() : fmt::format("{}.", table.substr(root().size() + 1));
}

bool has_table(const runtime::ReceivePlan& r, std::string_view table) {
    return table == "receive.capture" ? r.capture.has_value()
           : table == "receive.chunk" ? r.chunk.has_value()
                                      : true;
}

void add_table(runtime::ReceivePlan& r, std::string_view table) {
    if (table == "receive.capture")
        r.capture.emplace();
    else if (table == "receive.chunk")
        r.chunk.emplace();
}

std::span<const Section> sections() {
    static const std::array kAll{
        Section{"runtime", false, keys::runtime()},
        Section{"memory", false, keys::memory()},
        Section{"port", true, keys::port()},
        Section{"receive", true, keys::receive()},
        Section{"receive.heaps", false, keys::receive_heaps()},
        Section{"receive.chunk", false, keys::receive_chunk()},
        Section{"receive.sink", false, keys::receive_sink()},
        Section{"receive.capture", false, keys::receive_capture()},
        Section{"send", true, keys::send()},
        Section{"end", false, keys::end()},
    };
    return kAll;
}

const Section& section_of(std::string_view table) {
    return *std::ranges::find(sections(), table, &Section::table);
}

std::vector<std::string_view> names_in(std::string_view table) {
    std::vector<std::string_view> names;
    if (table.empty())
        names.emplace_back("version");
    else
        for (const Key& key : section_of(table).keys)
            names.push_back(key.name);
    for (const Section& section : sections()) {
        const std::size_t dot = section.table.rfind('.');
        const std::string_view above = dot == std::string_view::npos ? "" : section.table.substr(0, dot);
        if (above == table)
            names.push_back(section.table.substr(dot + 1));
    }
    return names;
}

const Key* find_key(std::string_view root, std::string_view path) {
    for (const Section& section : sections()) {
        const std::string prefix = section.prefix();
        if (section.root() != root || !path.starts_with(prefix))
            continue;
        const auto found = std::ranges::find(section.keys, path.substr(prefix.size()), &Key::name);
        if (found != section.keys.end())
            return &*found;
    }
    return nullptr;
}

std::vector<std::string> key_paths(std::string_view root) {
    std::vector<std::string> paths;
    for (const Section& section : sections())
        if (section.root() == root)
            for (const Key& key : section.keys)
                paths.push_back(section.prefix() + std::string(key.name));
    return paths;
}

void for_each_part(const runtime::Plan& plan, const Section& section,
                   const std::function<void(const std::string& path, ConstPart part)>& visit) {
    visit_parts(plan, section, visit);
}

void for_each_part(runtime::Plan& plan, const Section& section,
                   const std::function<void(const std::string& path, Part part)>& visit) {
    visit_parts(plan, section, visit);
}

Value default_value(const Section& section, const Key& key) {
    runtime::Plan fresh;
    fresh.ports.emplace_back();
    add_table(fresh.receives.emplace_back(), "receive.chunk");
    add_table(fresh.receives.back(), "receive.capture");
    fresh.sends.emplace_back();
    Value value;
    for_each_part(std::as_const(fresh), section,
                  [&](const std::string&, ConstPart part) { value = key.field.get(part); });
    return value;
}

std::string name_here(std::string_view habit) {
    const std::vector<std::string_view> tables = names_in("");
    const bool is_table = std::ranges::find(tables, habit) != tables.end();
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            if (!is_table && key.name != habit && as_key(key.option) == habit)
                return fmt::format("{} in {}", key.name, section.head());
    const auto* const found = std::ranges::find(kAliases, habit, &Alias::habit);
    return found == kAliases.end() ? std::string() : std::string(found->here);
}

}  // namespace spead::config
