// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/change.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead::runtime {

namespace {

constexpr std::string_view kRemedy = "; end the program and start it with the new configuration";

[[noreturn]] void refuse(const std::string& where, const std::string& what,
                         std::string_view remedy = kRemedy) {
    throw_error(where, "{} while the program runs{}", what, remedy);
}

template <typename T>
auto find(const std::vector<T>& all, const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&name](const T& one) { return one.name == name; });
}

bool has_kernel_sockets(const PortPlan& port) {
    return port.device.starts_with("net_kernel,");
}

/// Returns whether the configuration made the port for streams with `backend = "kernel"`: no file names it.
bool is_made_for_backend(const PortPlan& port) {
    return port.name.ends_with(kKernelPortSuffix) && has_kernel_sockets(port);
}

/// Refuses what would give a stream other sockets, or none, before the ports that this takes are looked at.
void check_backends(const Plan& now, const Plan& wanted) {
    for (const ReceivePlan& r : wanted.receives) {
        const auto before = find(now.receives, r.name);
        if (before != now.receives.end() && before->backend != r.backend)
            refuse(fmt::format("receive {}", r.name), "its `backend` cannot change");
    }
}

[[noreturn]] void refuse_port(const PortPlan& now, const PortPlan& wanted) {
    const std::string where = fmt::format("port {}", now.name);
    for (const auto& [one, other] : {std::pair(&now, &wanted), std::pair(&wanted, &now)})
        if (has_kernel_sockets(*one) && !has_kernel_sockets(*other))
            refuse(where,
                   fmt::format("streams with `backend = \"kernel\"` and others cannot take turns on {}",
                               other->device));
    refuse(where, "a port cannot change");
}

/// Brings the ports of `wanted` into the order of `now`. All of these are among them; new ones follow.
void order_ports(const std::vector<PortPlan>& now, std::vector<PortPlan>& wanted, NewPorts new_ports) {
    std::vector<PortPlan> ordered;
    for (const PortPlan& one : now) {
        const auto found = find(wanted, one.name);
        if (found == wanted.end() && is_made_for_backend(one)) {
            ordered.push_back(one);  // its last stream goes, and may come back
            continue;
        }
        if (found == wanted.end())
            throw_error(fmt::format("port {}", one.name),
                        "the running program has it, and the file does not; {}", kRemedy.substr(2));
        ordered.push_back(*found);
    }
    for (const PortPlan& one : wanted) {
        if (find(now, one.name) != now.end())
            continue;
        if (new_ports == NewPorts::refused && is_made_for_backend(one))
            refuse(fmt::format("port {}", one.name),
                   "a stream with `backend = \"kernel\"` needs this port, and it cannot be added");
        if (new_ports == NewPorts::refused)
            throw_error(fmt::format("port {}", one.name),
                        "it cannot be added, because its queues and packet memory are made at the start{}",
                        kRemedy);
        ordered.push_back(one);
    }
    wanted = std::move(ordered);
}

void check_send(const SendPlan& now, const SendPlan& wanted) {
    SendPlan same = now;
    same.enabled = wanted.enabled;
    same.rate = wanted.rate;
    same.burst_size = wanted.burst_size;
    same.burst_rate_ratio = wanted.burst_rate_ratio;
    same.ttl = wanted.ttl;
    same.dscp = wanted.dscp;
    same.heaps = wanted.heaps;
    if (same != wanted)
        refuse(fmt::format("send {}", now.name),
               "only `enabled`, `rate`, `burst_size`, `burst_rate_ratio`, `ttl`, `dscp` and (from its next "
               "start on) `heaps` can change",
               "; delete the sender and add it anew, or give the new one another name");
}

Change::Kind kind_of(const ReceivePlan& now, const ReceivePlan& wanted) {
    // Only the members that lcores and windows do not know.
    ReceivePlan same = now;
    same.endpoint_texts = wanted.endpoint_texts;
    same.path_endpoint_texts = wanted.path_endpoint_texts;
    same.poll = wanted.poll;
    same.max_poll = wanted.max_poll;
    same.expected_rate = wanted.expected_rate;
    same.silent_after = wanted.silent_after;
    same.loss_threshold = wanted.loss_threshold;
    same.shard = wanted.shard;
    same.deal = wanted.deal;
    same.assign = wanted.assign;
    if (!now.enabled && !wanted.enabled)
        return Change::Kind::none;
    if (same == wanted)
        return Change::Kind::none;
    same.endpoints = wanted.endpoints;
    same.path_endpoints = wanted.path_endpoints;
    return same == wanted ? Change::Kind::endpoints : Change::Kind::lanes;
}

}  // namespace

Change compare(const Plan& now, Plan& wanted, NewPorts new_ports) {
    RuntimePlan runtime = now.runtime;
    runtime.log_level = wanted.runtime.log_level;
    if (runtime != wanted.runtime)
        refuse("[runtime]", "only `log_level` can change");
    if (now.memory != wanted.memory)
        refuse("[memory]", "`heaps` cannot change");
    if (now.end.heaps != wanted.end.heaps)
        refuse("[end]", "`heaps` cannot change");
    check_backends(now, wanted);
    order_ports(now.ports, wanted.ports, new_ports);
    for (std::size_t i = 0; i < now.ports.size(); i++)
        if (now.ports[i] != wanted.ports[i])
            refuse_port(now.ports[i], wanted.ports[i]);

    Change change;
    for (const SendPlan& w : wanted.sends) {
        Change::Send& one = change.sends.emplace_back();
        const auto before = find(now.sends, w.name);
        if (before == now.sends.end())
            continue;
        check_send(*before, w);
        one.before = static_cast<std::size_t>(before - now.sends.begin());
    }
    for (std::size_t i = 0; i < now.sends.size(); i++)
        if (find(wanted.sends, now.sends[i].name) == wanted.sends.end())
            change.removed_sends.push_back(i);
    for (const ReceivePlan& r : wanted.receives) {
        Change::Receive& one = change.receives.emplace_back();
        const auto before = find(now.receives, r.name);
        if (before == now.receives.end()) {
            one.kind = Change::Kind::lanes;
            one.new_sink = true;
            continue;
        }
        one.before = static_cast<std::size_t>(before - now.receives.begin());
        if (before->capture != r.capture)
            throw_error(fmt::format("receive {}", r.name),
                        "its `capture` begins with the stream; start and stop captures of a running stream "
                        "at the prompt");
        one.kind = kind_of(*before, r);
        one.new_sink = before->sink != r.sink || before->chunk != r.chunk || before->enabled != r.enabled ||
                       before->engine != r.engine;
    }
    for (std::size_t i = 0; i < now.receives.size(); i++)
        if (find(wanted.receives, now.receives[i].name) == wanted.receives.end())
            change.removed.push_back(i);
    return change;
}

}  // namespace spead::runtime
