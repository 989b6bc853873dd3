// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>

#include <fmt/format.h>  // format_to: clang cannot link what core.h only declares

#include "config/config.hpp"
#include "config/keys.hpp"

namespace spead::config {

namespace {

/// Returns whether the value means the same as its absence: an unset value or an empty text.
bool says_nothing(const Key& key, const Value& value) {
    if (std::holds_alternative<std::monostate>(value))
        return true;
    if (const auto* text = std::get_if<std::string>(&value))
        return text->empty();
    return key.field.type == KeyType::texts && std::get<std::vector<std::string>>(value).empty();
}

/// Returns whether another key of the part says the same.
bool is_said_elsewhere(const Key& key, ConstPart part) {
    const auto* const receive = std::get_if<const runtime::ReceivePlan*>(&part);
    return receive != nullptr && key.name == "port" && !(*receive)->paths.empty() &&
           (*receive)->paths.front() == (*receive)->port;
}

void print_section(std::string& out, std::string_view head, const Section& section, ConstPart part) {
    fmt::format_to(std::back_inserter(out), "{}\n", head);
    for (const Key& key : section.keys) {
        const Value value = key.field.get(part);
        if (!says_nothing(key, value) && !is_said_elsewhere(key, part) &&
            !(key.terse && value == default_value(section, key)))
            fmt::format_to(std::back_inserter(out), "{} = {}\n", key.name, file_text(key, value));
    }
}

void print_part(std::string& out, std::string_view root, ConstPart part) {
    const auto has = [part](const Section& section) {
        const auto* const receive = std::get_if<const runtime::ReceivePlan*>(&part);
        return receive == nullptr || has_table(**receive, section.table);
    };
    for (const Section& section : sections())
        if (section.root() == root && has(section))
            print_section(out, (section.table == root ? "\n" : "") + section.head(), section, part);
}

}  // namespace

std::string to_toml(const runtime::Plan& plan) {
    std::string out = fmt::format("version = {}\n", kVersion);
    print_part(out, "runtime", &plan.runtime);
    print_part(out, "memory", &plan.memory);
    print_part(out, "end", &plan.end);
    for (const runtime::PortPlan& port : plan.ports)
        print_part(out, "port", &port);
    for (const runtime::ReceivePlan& r : plan.receives)
        print_part(out, "receive", &r);
    for (const runtime::SendPlan& s : plan.sends)
        print_part(out, "send", &s);
    return out;
}

}  // namespace spead::config
