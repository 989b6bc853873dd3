// SPDX-License-Identifier: BSD-3-Clause
#include "config/path_rules.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/kernel_ports.hpp"
#include "config/keys.hpp"
#include "runtime/paths.hpp"
#include "runtime/shared_endpoints.hpp"

namespace spead::config {

namespace {

using runtime::Plan;
using runtime::ReceivePlan;

const runtime::PortPlan* port_named(const Plan& plan, const std::string& name) {
    const auto found = std::ranges::find(plan.ports, name, &runtime::PortPlan::name);
    return found == plan.ports.end() ? nullptr : &*found;
}

/// Checks the ports of the paths.
std::optional<KeyFault> ports_fault(const Plan& plan, const ReceivePlan& r) {
    if (r.paths.size() != 2)
        return KeyFault{"paths",
                        fmt::format("stream `{}` has {} path{}; name two ports, or leave out `paths`", r.name,
                                    r.paths.size(), r.paths.size() == 1 ? "" : "s")};
    if (r.paths.front() != r.port)
        return KeyFault{"port", fmt::format("`port` of stream `{}` is {}, and its first path is {}; leave "
                                            "`port` out",
                                            r.name, r.port, r.paths.front())};
    const runtime::PortPlan* const second = port_named(plan, r.paths.back());
    if (second == nullptr)
        return KeyFault{
            "paths", fmt::format("there is no port `{}`; name two of the [[port]] tables", r.paths.back())};
    if (r.paths.front() == r.paths.back() && r.path_endpoints.empty())
        return KeyFault{"paths", fmt::format("both paths of stream `{}` are port {} with the same endpoints; "
                                             "name two ports, or give `path_endpoints`",
                                             r.name, r.port)};
    if (r.backend == runtime::Backend::kernel && !is_kernel_port(*second))
        return KeyFault{"backend",
                        fmt::format("stream `{}` wants kernel sockets, and its second path `{}` is "
                                    "{}; give a port with the device net_kernel0,iface=NETDEV",
                                    r.name, second->name, second->device)};
    if (is_kernel_port(*second) && second->vlan)
        return KeyFault{"paths", fmt::format("port `{}` has kernel sockets and `vlan`, and the kernel takes "
                                             "tags off; name the network interface of that VLAN, without "
                                             "`vlan`",
                                             second->name)};
    return std::nullopt;
}

/// Checks the times and the memory of what has come.
std::optional<KeyFault> history_fault(const ReceivePlan& r) {
    if (r.history == 0)
        return KeyFault{
            "heaps.history",
            fmt::format("without a `history` (--history), the second copy of a heap of stream `{}` would be "
                        "another heap; give at least the heaps of `path_skew` (--path-skew)",
                        r.name)};
    if (r.history_time < r.path_skew)
        return KeyFault{
            "heaps.history_time",
            fmt::format(
                "heaps of stream `{}` are forgotten after {:g} s, and one path may be "
                "{:g} s behind; raise `history_time` (--history-time) or lower `path_skew` (--path-skew)",
                r.name, r.history_time, r.path_skew)};
    if (r.timeout > 0 && r.timeout < r.path_skew)
        return KeyFault{
            "heaps.timeout",
            fmt::format("heaps of stream `{}` are given up after {:g} s, and one path may be "
                        "{:g} s behind; raise `timeout` (--heap-timeout) or lower `path_skew` (--path-skew)",
                        r.name, r.timeout, r.path_skew)};
    return std::nullopt;
}

/// Checks what two paths exclude.
std::optional<KeyFault> excluded(const ReceivePlan& r) {
    const auto fault = [&r](std::string_view key, std::string_view why) {
        const std::string_view option = find_key("receive", key)->option;
        return KeyFault{key, fmt::format("stream `{}` has two paths: {}; leave out `{}`{}", r.name, why,
                                         key.substr(key.rfind('.') + 1),
                                         option.empty() ? "" : fmt::format(" ({})", option))};
    };
    if (r.in_order)
        return fault("in_order", "a packet that only one of them brings is behind those of the other");
    if (r.stop_on_stop_item)
        return fault("stop_on_stop_item",
                     "the first stop item would end it before the other path's packets, for which "
                     "`exit_on_stop` (--exit-on-stop) waits");
    if (r.lend != 0)
        return fault("lend", "buffers of two ports in one heap cannot be lent");
    if (r.engine != runtime::HeapEngine::none)
        return fault("heaps.gather", "an engine reads the packets of one port");
    return std::nullopt;
}

/// Returns the plan's path of the text with this endpoint, for the error's place.
std::string text_path(const ReceivePlan& r, std::size_t stream, std::size_t path, const Endpoint& endpoint) {
    const bool second = path != 0 && !r.path_endpoints.empty();
    const std::string list = fmt::format("receive[{}].{}", stream, second ? "path_endpoints" : "endpoints");
    const std::vector<std::string>& texts = second ? r.path_endpoint_texts : r.endpoint_texts;
    for (std::size_t k = texts.size(); k-- > 0;) {
        const auto expanded = parse_endpoints(texts[k]);
        if (std::find(expanded.begin(), expanded.end(), endpoint) != expanded.end())
            return fmt::format("{}[{}]", list, k);
    }
    return list;
}

}  // namespace

std::optional<KeyFault> path_fault(const Plan& plan, const ReceivePlan& r) {
    if (r.paths.empty()) {
        if (!r.path_endpoints.empty())
            return KeyFault{"path_endpoints", fmt::format("stream `{}` has one path; name both ports in "
                                                          "`paths`, or leave `path_endpoints` out",
                                                          r.name)};
        if (r.path_skew != ReceivePlan{}.path_skew)
            return KeyFault{"path_skew", fmt::format("stream `{}` has one path; name both ports in `paths`, "
                                                     "or leave `path_skew` out",
                                                     r.name)};
        return std::nullopt;
    }
    if (std::optional<KeyFault> fault = ports_fault(plan, r))
        return fault;
    if (!r.path_endpoints.empty() && r.path_endpoints.size() != r.endpoints.size())
        return KeyFault{"path_endpoints",
                        fmt::format("the first path of stream `{}` has {} endpoints, and the second has {}; "
                                    "give one for each",
                                    r.name, r.endpoints.size(), r.path_endpoints.size())};
    if (std::optional<KeyFault> fault = history_fault(r))
        return fault;
    return excluded(r);
}

void check_endpoints_once(const Plan& plan, const Locator& locate, std::span<const std::string> asking) {
    struct Taken {
        std::size_t stream;
        Endpoint endpoint;
    };
    std::map<std::tuple<std::string, IpAddress, std::uint16_t>, std::vector<Taken>> taken;
    const auto check = [&](std::size_t i, std::size_t path, const std::string& port, const Endpoint& e) {
        auto& others = taken[{port, e.address, e.port}];
        for (const Taken& other : others) {
            if (!runtime::share_packets(e, other.endpoint))
                continue;
            // One that is stopped receives nothing: the other one may have its packets until it starts.
            if (other.stream != i && !(plan.receives[i].enabled && plan.receives[other.stream].enabled))
                continue;
            const std::string what =
                e == other.endpoint
                    ? fmt::format("{} is", to_string(e))
                    : fmt::format("{} overlaps {}, which is", to_string(e), to_string(other.endpoint));
            const std::string in = text_path(plan.receives[i], i, path, e);
            const std::string where = locate ? locate(in) : std::string();
            if (other.stream == i)
                throw_usage(where, "{} already in stream `{}`; name each address once", what,
                            plan.receives[i].name);
            throw_usage(where, "{} already received by stream `{}`; a packet can belong to one stream only",
                        what, plan.receives[other.stream].name);
        }
        others.push_back({i, e});
    };
    // Those that ask come last, and find what others have.
    for (const bool asks : {false, true})
        for (std::size_t i = 0; i < plan.receives.size(); i++) {
            const ReceivePlan& r = plan.receives[i];
            if ((std::ranges::find(asking, r.name) != asking.end()) != asks)
                continue;
            runtime::for_each_path(
                r, [&](std::size_t path, const std::string& port, const std::vector<Endpoint>& endpoints) {
                    for (const Endpoint& e : endpoints)
                        check(i, path, port, e);
                });
        }
}

}  // namespace spead::config
