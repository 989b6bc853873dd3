// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"
#include "port/netdev.hpp"
#include "runtime/engine_state.hpp"

namespace spead::runtime {

namespace {

/// The kernel's reports carry the tag of the interface that it joins on.
std::unique_ptr<port::KernelMembership> membership_of(const port::Port& p,
                                                      std::optional<std::uint16_t> vlan) {
    if (!vlan)
        return std::make_unique<port::KernelMembership>(p.if_index(), p.netdev());
    const std::string name = port::vlan_netdev(p.netdev(), *vlan);
    const auto facts = name.empty() ? std::nullopt : port::netdev_facts(name);
    if (!facts)
        throw_error(
            p.name(),
            "groups in VLAN {0} are joined on the kernel's interface for it, which {1} has not: run `ip "
            "link add link {1} name {1}.{0} type vlan id {0}` and `ip link set {1}.{0} up`",
            *vlan, p.netdev());
    return std::make_unique<port::KernelMembership>(facts->index, name);
}

}  // namespace

/// The kernel tells the network which groups we want, on ports whose interface it still sees; on others we
/// do. Consumers are armed and lcores poll by now: what comes at once is received.
void Engine::State::join_groups() {
    for (const ReceivePlan& r : plan.receives) {
        const std::size_t i = port_index(r.port);
        const port::Port& p = *ports[i];
        if (hosts[i])
            join_with_own_host(*hosts[i], r);
        if (p.capabilities().membership != port::Membership::kernel_socket)
            continue;
        memberships.push_back(membership_of(p, plan.ports[i].vlan));
        for (const Endpoint& e : r.endpoints)
            memberships.back()->want(e);
        memberships.back()->join_all();
    }
}

void Engine::State::leave_groups() {
    memberships.clear();
    leave_with_own_hosts();
}

}  // namespace spead::runtime
