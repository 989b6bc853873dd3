// SPDX-License-Identifier: BSD-3-Clause
#include "config/kernel_ports.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/change.hpp"
#include "runtime/paths.hpp"

namespace spead::config {

namespace {

using runtime::Backend;
using runtime::Plan;
using runtime::PortPlan;
using runtime::ReceivePlan;

constexpr std::string_view kKernel = "net_kernel";
constexpr std::string_view kInterface = "iface=";

/// Returns the network interface, or an address of it, that a device string names; empty: none.
std::string interface_of(std::string_view device) {
    const std::string_view name = device.substr(0, device.find(','));
    if (!name.starts_with("net_") && !name.starts_with("vdev:") && name.find(':') == name.npos)
        return std::string(name);
    for (std::size_t at = device.find(','); at != device.npos; at = device.find(',', at + 1)) {
        const std::string_view parameter = device.substr(at + 1, device.find(',', at + 1) - at - 1);
        if (parameter.starts_with(kInterface))
            return std::string(parameter.substr(kInterface.size()));
    }
    return {};
}

bool uses_kernel(const ReceivePlan& r, const std::string& port) {
    return runtime::receives_on(r, port) && r.backend == Backend::kernel;
}

/// Returns whether a sender, or a stream with another backend, uses the port.
bool has_other_users(const Plan& plan, const std::string& port) {
    return std::ranges::any_of(plan.sends, [&](const runtime::SendPlan& s) { return s.port == port; }) ||
           std::ranges::any_of(plan.receives, [&](const ReceivePlan& r) {
               return runtime::receives_on(r, port) && r.backend != Backend::kernel;
           });
}

const PortPlan* find_port(const Plan& plan, const std::string& name) {
    const auto found = std::ranges::find(plan.ports, name, &PortPlan::name);
    return found == plan.ports.end() ? nullptr : &*found;
}

}  // namespace

bool is_kernel_port(const PortPlan& port) {
    return port.device.starts_with(kKernel);
}

bool names_interface(const PortPlan& port) {
    return !interface_of(port.device).empty();
}

void add_kernel_ports(Plan& plan) {
    for (std::size_t i = 0, ports = plan.ports.size(); i < ports; i++) {
        const PortPlan port = plan.ports[i];
        const std::string interface = interface_of(port.device);
        const bool wanted = std::ranges::any_of(
            plan.receives, [&](const ReceivePlan& r) { return uses_kernel(r, port.name); });
        if (!wanted || is_kernel_port(port) || interface.empty())
            continue;
        const std::string device = fmt::format("{},{}{}", kKernel, kInterface, interface);
        if (!has_other_users(plan, port.name)) {
            plan.ports[i].device = device;
            continue;
        }
        const std::string name = port.name + std::string(runtime::kKernelPortSuffix);
        if (const PortPlan* const other = find_port(plan, name); other == nullptr) {
            PortPlan& fresh = plan.ports.emplace_back();
            fresh.name = name;
            fresh.device = device;
            fresh.vlan = port.vlan;
            fresh.link_rate = port.link_rate;
        } else if (other->device != device) {
            throw_usage(fmt::format("port {}", name),
                        "a stream on port `{}` has backend = \"kernel\", so a port of this name is made for "
                        "{}, and the name is taken by {}; give that port another name",
                        port.name, device, other->device);
        }
        for (ReceivePlan& r : plan.receives)
            if (uses_kernel(r, port.name)) {
                std::ranges::replace(r.paths, port.name, name);
                if (r.port == port.name)
                    r.port = name;
            }
    }
}

}  // namespace spead::config
