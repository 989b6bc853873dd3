// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_remarks.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/endpoint.hpp"
#include "runtime/layout_ports.hpp"
#include "runtime/paths.hpp"

namespace spead::runtime {

namespace {

/// Adds remarks on unicast endpoints: packets arrive only if a host answers for their address.
void remark_addresses(const Plan& plan, Layout& layout) {
    for (const ReceivePlan& r : plan.receives)
        for_each_path(r, [&](std::size_t, const std::string& port, const std::vector<Endpoint>& endpoints) {
            if (!has_own_host(layout.port(port)))
                return;
            const PortPlan& p = *std::ranges::find(plan.ports, port, &PortPlan::name);
            for (const Endpoint& e : endpoints) {
                const IpAddress own = e.address.is_v4() ? IpAddress(p.address) : IpAddress(p.address6);
                // The link-local address of the port's MAC address is not known yet.
                if (e.address.is_multicast() || e.address == own ||
                    (e.address.is_link_local() && !own.is_link_local()))
                    continue;
                layout.remarks.push_back(fmt::format(
                    "receive {}: {} for {} get no answer, because the {} address of port {} is {}; set it "
                    "with `{}` of the [[port]] (--address), unless its senders know the port's MAC address",
                    r.name, e.address.is_v4() ? "ARP requests" : "neighbour solicitations", to_string(e),
                    e.address.is_v4() ? "IPv4" : "IPv6", port,
                    own.is_unspecified() ? "not given" : to_string(own),
                    e.address.is_v4() ? "address" : "address6"));
            }
        });
}

/// Adds remarks on interfaces on which the kernel speaks no IPv6.
void remark_ipv6(const port::Machine& machine, Layout& layout) {
    for (const port::PlannedPort& p : layout.ports) {
        const std::string setting = fmt::format("net/ipv6/conf/{}/disable_ipv6", p.device.netdev);
        if (p.request.ipv6 && !p.device.netdev.empty() && machine.files.number("/proc/sys/" + setting) == 1)
            layout.remarks.push_back(fmt::format(
                "port {0}: the kernel speaks no IPv6 on {1}: it joins no groups, finds no hosts and "
                "has no address there; run `sysctl -w {2}=0`",
                p.request.name, p.device.netdev, setting));
    }
}

/// Adds remarks on axes of endpoints that have other counts than the stream has endpoints.
void remark_axes(const Plan& plan, Layout& layout) {
    for (const ReceivePlan& r : plan.receives) {
        if (!r.chunk || r.chunk->by_callback)
            continue;
        for (const chunk::Axis& axis : r.chunk->parsed().axes) {
            const chunk::Term& term = axis.term;
            const bool plain = term.kind == chunk::Term::Kind::endpoint && term.shift == 0 &&
                               ~term.mask == 0 && term.first == 0 && term.step == 1 && term.list.empty();
            if (plain && axis.count != r.endpoints.size())
                layout.remarks.push_back(fmt::format(
                    "receive {}: the axis `{}` has {}, and the stream has {}: {}; let both "
                    "be the same",
                    r.name, axis.name, counted(axis.count, "places"),
                    counted(r.endpoints.size(), "endpoints"),
                    axis.count < r.endpoints.size() ? "packets to the others count as `out_of_range`"
                                                    : "the other places stay empty"));
        }
    }
}

/// Adds remarks on addresses of an IP version that nothing on their port uses, while something uses the other
/// one.
void remark_unused_addresses(const Plan& plan, Layout& layout) {
    for (const PortPlan& p : plan.ports) {
        bool uses_v4 = false;
        bool uses_v6 = false;
        const auto look = [&](const std::vector<Endpoint>& endpoints) {
            for (const Endpoint& e : endpoints)
                (e.address.is_v4() ? uses_v4 : uses_v6) = true;
        };
        for (const ReceivePlan& r : plan.receives)
            for_each_path(r, [&](std::size_t, const std::string& port, const auto& endpoints) {
                if (port == p.name)
                    look(endpoints);
            });
        for (const SendPlan& s : plan.sends)
            if (s.port == p.name)
                look(s.endpoints);
        const auto remark = [&](const IpAddress& own, const char* key, const char* version,
                                const char* other) {
            layout.remarks.push_back(
                fmt::format("port {}: its `{}` (--address) is {}, and all its endpoints are of {}; "
                            "give an address of that with `{}` (--address), or leave it out",
                            p.name, key, to_string(own), version, other));
        };
        if (uses_v6 && !uses_v4 && p.address != Ipv4{})
            remark(IpAddress(p.address), "address", "IPv6", "address6");
        if (uses_v4 && !uses_v6 && p.address6 != Ipv6{})
            remark(IpAddress(p.address6), "address6", "IPv4", "address");
    }
}

}  // namespace

void add_remarks(const Plan& plan, const port::Machine& machine, Layout& layout) {
    remark_addresses(plan, layout);
    remark_unused_addresses(plan, layout);
    remark_ipv6(machine, layout);
    remark_axes(plan, layout);
}

}  // namespace spead::runtime
