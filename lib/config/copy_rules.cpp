// SPDX-License-Identifier: BSD-3-Clause
#include "config/copy_rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/core.h>

#include "config/keys.hpp"

namespace spead::config {

namespace {

using runtime::Plan;
using runtime::SendPlan;

constexpr std::array<std::string_view, 6> kOwnKeys = {"name",    "port",   "lcore",
                                                      "dst_mac", "impair", "copy_of"};
/// Lists the keys that decide what heaps and packets are. The copies of a packet must be alike.
constexpr std::array<std::string_view, 12> kAlike = {"pattern",   "senders",      "first_time",  "heap_size",
                                                     "items",     "repeat_items", "first_count", "count_step",
                                                     "addr_bits", "verify",       "from",        "heaps"};

bool any_of(const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

const toml::table* sender_named(const toml::array& senders, std::string_view name) {
    for (const toml::node& node : senders)
        if (const toml::table* const one = node.as_table();
            one != nullptr && (*one)["name"].value_or(std::string_view()) == name)
            return one;
    return nullptr;
}

/// Says that the sender can be no copy of `of`.
std::string no_original(std::string_view name, std::string_view of) {
    if (name == of)
        return fmt::format("sender `{}` is to be a copy of itself; name another [[send]]", name);
    return fmt::format("there is no sender `{}` for `{}` to copy; name another [[send]]", of, name);
}

std::string value_text(const Key& key, const SendPlan& s) {
    const std::string text = file_text(key, key.field.get(&s));
    return text.empty() ? "not set" : text;
}

}  // namespace

void complete_copies(toml::table& tree) {
    toml::array* const senders = tree["send"].as_array();
    if (senders == nullptr)
        return;
    for (toml::node& node : *senders) {
        toml::table* const copy = node.as_table();
        if (copy == nullptr)
            continue;
        const auto of = (*copy)["copy_of"].value<std::string>();
        const toml::table* const original = of ? sender_named(*senders, *of) : nullptr;
        if (original == nullptr || original == copy)
            continue;
        for (const auto& [key, value] : *original)
            if (!any_of(kOwnKeys, key.str()))
                copy->insert(key, value);
    }
}

void check_originals(const toml::table& tree, const Source& source) {
    const toml::array* const senders = tree["send"].as_array();
    if (senders == nullptr)
        return;
    for (const toml::node& node : *senders) {
        const toml::table* const copy = node.as_table();
        const auto of = copy == nullptr ? std::nullopt : (*copy)["copy_of"].value<std::string>();
        if (!of || of->empty())
            continue;
        const toml::table* const original = sender_named(*senders, *of);
        if (original == nullptr || original == copy)
            throw UsageError(source.at((*copy)["copy_of"].node()->source().begin),
                             no_original((*copy)["name"].value_or(std::string()), *of));
    }
}

std::optional<KeyFault> copy_fault(const Plan& plan, const SendPlan& s) {
    if (s.copy_of.empty())
        return std::nullopt;
    const auto fault = [](std::string_view key, std::string what) { return KeyFault{key, std::move(what)}; };
    const auto original = std::ranges::find(plan.sends, s.copy_of, &SendPlan::name);
    if (original == plan.sends.end() || &*original == &s)
        return fault("copy_of", no_original(s.name, s.copy_of));
    if (!original->copy_of.empty())
        return fault("copy_of", fmt::format("sender `{}` is a copy itself; name the one that it is a copy of",
                                            s.copy_of));
    if (std::ranges::count(plan.sends, s.copy_of, &SendPlan::copy_of) > 1)
        return fault("copy_of", fmt::format("sender `{}` has two copies; receivers take two paths, so leave "
                                            "one of them out",
                                            s.copy_of));
    if (s.endpoints.size() != original->endpoints.size())
        return fault("endpoints",
                     fmt::format("sender `{}` has {} endpoints, and its copy `{}` has {}; give "
                                 "one for each",
                                 original->name, original->endpoints.size(), s.name, s.endpoints.size()));
    if (s.port == original->port && s.endpoints == original->endpoints)
        return fault("port", fmt::format("sender `{}` and its copy `{}` send to the same endpoints by port "
                                         "`{}`; name another port, or other `endpoints`",
                                         original->name, s.name, s.port));
    for (const Key& key : section_of("send").keys)
        if (any_of(kAlike, key.name) && key.field.get(&s) != key.field.get(&*original))
            return fault(key.name, fmt::format("`{}` of sender `{}` is {}, and of its copy `{}` it is {}; "
                                               "leave it out of the copy",
                                               key.name, original->name, value_text(key, *original), s.name,
                                               value_text(key, s)));
    if (packet_size(s) != packet_size(*original))
        return fault(
            "max_packet_size",
            fmt::format("packets of sender `{}` have up to {} bytes, and those of its copy `{}` have "
                        "{}; give `{}` a `max_packet_size` that suits both",
                        original->name, packet_size(*original), s.name, packet_size(s), original->name));
    return std::nullopt;
}

}  // namespace spead::config
