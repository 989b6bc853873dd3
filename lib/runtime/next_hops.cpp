// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/next_hops.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "base/error.hpp"
#include "port/neighbours.hpp"
#include "port/netdev.hpp"

namespace spead::runtime {

std::string kernel_side(const port::Port& port, std::optional<std::uint16_t> vlan) {
    std::string of_vlan = vlan ? port::vlan_netdev(port.netdev(), *vlan) : std::string();
    return of_vlan.empty() ? port.netdev() : of_vlan;
}

bool needs_next_hops(const SendPlan& plan) {
    return !plan.dst_mac && std::any_of(plan.endpoints.begin(), plan.endpoints.end(),
                                        [](const Endpoint& e) { return !e.address.is_multicast(); });
}

void check_next_hops(const SendPlan& plan, const port::PlannedPort& port) {
    const bool ourselves = port.device.capabilities.membership == port::Membership::own_host;
    if (plan.dst_mac || (ourselves || !port.device.netdev.empty()))
        return;
    const auto unicast = std::find_if(plan.endpoints.begin(), plan.endpoints.end(),
                                      [](const Endpoint& e) { return !e.address.is_multicast(); });
    if (unicast != plan.endpoints.end())
        throw_usage(
            fmt::format("send {} endpoints", plan.name),
            "the unicast endpoint {} needs the MAC address of the host, or of the router towards it, "
            "and port {} ({}) has no network interface of the kernel to find it; give it with `dst_mac` "
            "(--dst-mac)",
            to_string(*unicast), port.request.name, port.device.name);
}

std::vector<NextHop> find_next_hops(const port::Port& port, send::SenderConfig& config, int interrupt_fd) {
    std::vector<NextHop> hops;
    std::vector<IpAddress> addresses;
    for (std::uint32_t i = 0; i < config.destinations.size(); i++) {
        const send::Destination& d = config.destinations[i];
        if (!d.mac && !d.endpoint.address.is_multicast()) {
            hops.push_back({i, d.endpoint.address, {}});
            addresses.push_back(d.endpoint.address);
        }
    }
    const bool ourselves = port.capabilities().membership == port::Membership::own_host;
    if (hops.empty() || (port.netdev().empty() && !ourselves))
        return {};
    try {
        if (!ourselves) {
            const std::vector<MacAddress> macs = port::next_hop_macs(
                kernel_side(port, config.vlan), addresses, port::kNeighbourPatience, interrupt_fd);
            for (std::size_t i = 0; i < macs.size(); i++)
                hops[i].mac = macs[i];
        }
    } catch (const Error& error) {
        throw_error(fmt::format("send {}", config.name), "{}; or give it with `dst_mac` (--dst-mac)",
                    error.what());
    }
    for (const NextHop& hop : hops)
        config.destinations[hop.substream].mac = hop.mac;
    return hops;
}

}  // namespace spead::runtime
