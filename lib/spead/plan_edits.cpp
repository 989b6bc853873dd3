// SPDX-License-Identifier: BSD-3-Clause
#include "spead/plan_edits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "config/config.hpp"
#include "config/limits.hpp"
#include "drivers/table.hpp"
#include "port/candidates.hpp"
#include "port/device_name.hpp"
#include "port/machine.hpp"
#include "runtime/layout.hpp"

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

/// Returns the last part of a path: "ring" of "receive[3].heaps.queue_depth".
std::string key_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
}

}  // namespace

runtime::Plan first_plan(const ProcessConfig& config) {
    const std::vector<unsigned> allowed = runtime::allowed_cpus();
    runtime::Plan plan;
    plan.runtime.name = config.name;
    plan.runtime.main_cpu = config.main_cpu.value_or(allowed.front());
    plan.runtime.live = true;
    plan.runtime.lcores = config.lcores;
    if (plan.runtime.lcores.empty())
        for (const unsigned cpu : allowed)
            if (cpu != *plan.runtime.main_cpu || allowed.size() == 1)
                plan.runtime.lcores.push_back(cpu);
    plan.memory.heaps = 0;
    plan.memory.spare_eal = config.eal_memory;
    return plan;
}

std::string port_for(runtime::Plan& plan, const std::string& interface) {
    const std::string typed = interface.empty() ? chosen_interface() : interface;
    const std::string device = device_of(typed);
    for (const runtime::PortPlan& p : plan.ports)
        if (p.device == typed || device_of(p.device) == device)
            return p.name;
    runtime::PortPlan& added = plan.ports.emplace_back();
    added.name = fmt::format("p{}", plan.ports.size() - 1);
    added.device = typed;
    return added.name;
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

void check(const runtime::Plan& plan) {
    runtime::Plan checked = plan;
    // A session's streams have memory of their own.
    checked.memory = {};
    // No file can ask for a user, and none need be checked.
    for (runtime::ReceivePlan& r : checked.receives)
        r.sink = {};
    config::validate(checked, key_of);
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
