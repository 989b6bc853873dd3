// SPDX-License-Identifier: BSD-3-Clause
#include "spead/plan_edits.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <regex>
#include <typeinfo>

#include <fmt/ranges.h>

#include "base/units.hpp"
#include "config/config.hpp"
#include "config/limits.hpp"
#include "drivers/table.hpp"
#include "port/candidates.hpp"
#include "port/device_name.hpp"
#include "port/machine.hpp"
#include "runtime/layout.hpp"
#include "runtime/shared_endpoints.hpp"

namespace spead::door {

namespace {

/// Returns EAL's name of the device; as it was typed if that is unknown.
std::string device_of(const std::string& typed) {
    port::PortRequest request;
    request.device = typed;
    try {
        return port::name_device(request, drivers::table(), {}, port::this_machine()).device;
    } catch (const Error&) {
        return typed;
    }
}

std::string chosen_interface() {
    if (const char* const variable = std::getenv("DPDK_SPEAD_INTERFACE");
        variable != nullptr && *variable != '\0')
        return variable;
    port::LonePort lone = port::lone_port(port::this_machine());
    if (lone.device.empty())
        throw_error("interface", "no port is named; set `interface` or DPDK_SPEAD_INTERFACE. Here {}",
                    lone.why_not);
    return std::move(lone.device);
}

/// Returns the plan's port on the device that the user named so; null: none.
const runtime::PortPlan* port_on(const runtime::Plan& plan, const std::string& typed) {
    const std::string device = device_of(typed);
    for (const runtime::PortPlan& p : plan.ports)
        if (p.device == typed || device_of(p.device) == device)
            return &p;
    return nullptr;
}

bool has_port(const runtime::Plan& plan, const std::string& name) {
    return std::any_of(plan.ports.begin(), plan.ports.end(),
                       [&name](const auto& p) { return p.name == name; });
}

/// Maps a key of the file to its other name in the headers.
struct Renamed {
    std::string_view key;
    std::string_view name;
};
constexpr std::string_view kLiveLcores = "`lcores` of [runtime], with `live = true`";
constexpr std::string_view kLcores = "`lcores` of ProcessConfig";
constexpr std::array<Renamed, 9> kOfReceive{{{"`max_live`", "`max_heaps`"},
                                             {"`path_endpoints`", "`second_path.endpoints`"},
                                             {"`path_skew`", "`second_path.skew`"},
                                             {"`max_bytes`", "`max_heap_bytes`"},
                                             {"`timeout`", "`heap_timeout`"},
                                             {"max_live x substreams", "max_heaps x substreams"},
                                             {kLiveLcores, kLcores},
                                             {"[[receive]]", "stream"},
                                             {"[[send]]", "sender"}}};
constexpr std::array<Renamed, 5> kOfSend{{{"`first_count`", "`first_cnt`"},
                                          {"`count_step`", "`cnt_step`"},
                                          {kLiveLcores, kLcores},
                                          {"[[receive]]", "stream"},
                                          {"[[send]]", "sender"}}};

/// Says it with the names of the headers, and without options of the program's command line.
template <std::size_t N>
std::string in_words_of_the_headers(std::string text, const std::array<Renamed, N>& all) {
    for (const Renamed& one : all)
        for (std::size_t at = 0; (at = text.find(one.key, at)) != std::string::npos; at += one.name.size())
            text.replace(at, one.key.size(), one.name);
    // Never destroyed, as all that threads may use while the process ends.
    static const auto& option = *new const std::regex(R"(, --[a-z-]+| \(--[a-z-]+\))");
    return std::regex_replace(text, option, "");
}

/// Returns what the path of a value names: "receive[3].heaps.queue_depth": the stream.
std::string place_in(const runtime::Plan& plan, std::string_view path) {
    const auto named = [path](std::string_view part, const auto& all) -> std::string {
        std::size_t i = 0;
        if (!path.starts_with(part) ||
            std::from_chars(path.data() + part.size() + 1, path.data() + path.size(), i).ec != std::errc{} ||
            i >= all.size())
            return {};
        return fmt::format("{} {}", part, all[i].name);
    };
    for (std::string place :
         {named("receive", plan.receives), named("send", plan.sends), named("port", plan.ports)})
        if (!place.empty())
            return place;
    return path.starts_with("runtime.") ? "process" : std::string(path);
}

void need_cpus_of(const runtime::Eal::Cpus& eal, const ProcessConfig& config) {
    const bool all = std::all_of(config.lcores.begin(), config.lcores.end(), [&eal](unsigned cpu) {
        return std::find(eal.workers.begin(), eal.workers.end(), cpu) != eal.workers.end();
    });
    if (!all || config.main_cpu.value_or(eal.main) != eal.main)
        throw_error(
            "process",
            "EAL was started, once for this process, with the main CPU {} and lcores on the CPUs {}; ask for "
            "some of these (`main_cpu`, `lcores`), or for none",
            eal.main, fmt::join(eal.workers, ","));
}

}  // namespace

runtime::Plan first_plan(const ProcessConfig& config, const std::optional<runtime::Eal::Cpus>& eal) {
    need_room("process", "eal_memory", config.eal_memory);
    const std::vector<unsigned> allowed = runtime::allowed_cpus();
    runtime::Plan plan;
    plan.runtime.name = config.name;
    plan.runtime.live = true;
    plan.runtime.lcores = config.lcores;
    if (eal) {
        need_cpus_of(*eal, config);
        plan.runtime.main_cpu = eal->main;
        if (plan.runtime.lcores.empty())
            plan.runtime.lcores = eal->workers;
    } else {
        plan.runtime.main_cpu = config.main_cpu.value_or(allowed.front());
    }
    if (plan.runtime.lcores.empty())
        for (const unsigned cpu : allowed)
            if (cpu != *plan.runtime.main_cpu || allowed.size() == 1)
                plan.runtime.lcores.push_back(cpu);
    plan.memory.heaps = 0;
    plan.memory.spare_eal = config.eal_memory;
    check(plan);
    return plan;
}

std::string port_for(runtime::Plan& plan, const std::string& interface) {
    const std::string typed = interface.empty() ? chosen_interface() : interface;
    if (const runtime::PortPlan* const there = port_on(plan, typed); there != nullptr)
        return there->name;
    runtime::PortPlan& added = plan.ports.emplace_back();
    added.name = fmt::format("p{}", plan.ports.size() - 1);
    added.device = typed;
    return added.name;
}

runtime::Plan merged(runtime::Plan running, runtime::Plan given,
                     const std::function<bool(const std::string&)>& is_users_stream,
                     const std::function<bool(const std::string&)>& is_users_sender) {
    std::erase_if(running.receives, [&](const runtime::ReceivePlan& r) { return !is_users_stream(r.name); });
    std::erase_if(running.sends, [&](const runtime::SendPlan& s) { return !is_users_sender(s.name); });
    std::map<std::string, std::string> names;  // of the given ports, in the running plan
    for (runtime::PortPlan& p : given.ports) {
        if (const runtime::PortPlan* const there = port_on(running, p.device); there != nullptr) {
            names[p.name] = there->name;
            continue;
        }
        const std::string wanted = p.name;
        for (int i = 2; has_port(running, p.name); i++)
            p.name = fmt::format("{}_{}", wanted, i);
        names[wanted] = p.name;
        running.ports.push_back(std::move(p));
    }
    const std::size_t part = given.receives.empty() ? 0 : given.memory.heaps / given.receives.size();
    for (runtime::ReceivePlan& r : given.receives) {
        r.port = names[r.port];
        for (std::string& port : r.paths)
            port = names[port];
        if (r.memory == 0)
            r.memory = part;
        running.receives.push_back(std::move(r));
    }
    for (runtime::SendPlan& s : given.sends) {
        s.port = names[s.port];
        running.sends.push_back(std::move(s));
    }
    return running;
}

bool is_in_the_way(const runtime::Plan& plan, const runtime::ReceivePlan& stream) {
    return stream.enabled && std::ranges::any_of(plan.receives, [&stream](const runtime::ReceivePlan& other) {
               return other.name != stream.name && other.enabled && runtime::share_packets(stream, other);
           });
}

std::string free_name(const runtime::Plan& plan, std::string_view prefix) {
    for (std::size_t i = 0;; i++) {
        std::string name = fmt::format("{}{}", prefix, i);
        const auto is_it = [&name](const auto& one) { return one.name == name; };
        if (std::none_of(plan.receives.begin(), plan.receives.end(), is_it) &&
            std::none_of(plan.sends.begin(), plan.sends.end(), is_it))
            return name;
    }
}

void check(const runtime::Plan& plan, std::span<const std::string> asking) {
    runtime::Plan checked = plan;
    // A session's streams have memory of their own.
    checked.memory = {};
    // No file can ask for a user, and none need be checked.
    for (runtime::ReceivePlan& r : checked.receives) {
        r.sink = {};
        checked.memory.heaps = std::max(checked.memory.heaps, r.memory);
    }
    with_names_of_headers([&] {
        config::validate(
            checked, [&checked](std::string_view path) { return place_in(checked, path); }, asking);
    });
}

void throw_with_names_of_headers(const Error& error) {
    const bool is_usage = typeid(error) == typeid(UsageError);
    if (!is_usage && typeid(error) != typeid(Error))
        return;
    std::string where = error.where();
    std::string text = error.what();
    if (text.starts_with(where + ": "))
        text.erase(0, where.size() + 2);
    text = where.starts_with("send ") ? in_words_of_the_headers(std::move(text), kOfSend)
                                      : in_words_of_the_headers(std::move(text), kOfReceive);
    // "runtime lcores": a key of the file.
    if (constexpr std::string_view kRuntime = "runtime "; where.starts_with(kRuntime)) {
        text = fmt::format("`{}`: {}", where.substr(kRuntime.size()), text);
        where = "process";
    }
    if (is_usage)
        throw UsageError(where, text);
    throw Error(where, text);
}

void need_room(const std::string& where, std::string_view name, std::size_t bytes) {
    constexpr std::size_t kMost = std::size_t{1} << 46;
    if (bytes > kMost)
        throw_usage(where, "`{}` is {} bytes; no machine has more than {}", name, bytes, human_size(kMost));
}

std::vector<unsigned> parse_cpus(std::string_view text, const std::string& where) {
    const auto number = [&](std::string_view word) {
        unsigned cpu = 0;
        const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), cpu);
        if (wrong != std::errc{} || end != word.data() + word.size() || !config::kCpu.hold(cpu))
            throw_usage(where, "`{}` is not a CPU; give numbers of 0 to {}, as in 2,3 or 2-5", word,
                        config::kCpu.max);
        return cpu;
    };
    std::vector<unsigned> cpus;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::size_t dash = word.find('-');
        const unsigned first = number(word.substr(0, dash));
        const unsigned last = dash == std::string_view::npos ? first : number(word.substr(dash + 1));
        if (last < first)
            throw_usage(where, "`{}` runs backwards; give the lower CPU first", word);
        for (unsigned cpu = first; cpu <= last; cpu++)
            if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
                cpus.push_back(cpu);
    }
    return cpus;
}

}  // namespace spead::door
