// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>

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

/// What is received, and where.
std::vector<std::pair<std::size_t, Endpoint>> Engine::State::groups_of(const Plan& wanted) const {
    std::vector<std::pair<std::size_t, Endpoint>> all;
    for (const ReceivePlan& r : wanted.receives)
        if (r.enabled)
            for (const Endpoint& e : r.endpoints)
                all.emplace_back(port_index(r.port), e);
    std::sort(all.begin(), all.end());
    return all;
}

/// The kernel tells the network which groups we want, on ports whose interface it still sees; on others we
/// do. Consumers are armed and lcores poll by now: what comes at once is received. When a port refuses, none
/// of what is new is joined on it.
void Engine::State::join_groups(const Plan& wanted) {
    const auto all = groups_of(wanted);
    std::vector<std::pair<std::size_t, Endpoint>> fresh;
    std::set_difference(all.begin(), all.end(), groups.begin(), groups.end(), std::back_inserter(fresh));
    for (std::size_t i = 0; i < ports.size(); i++) {
        std::vector<Endpoint> here;
        for (const auto& [port, endpoint] : fresh)
            if (port == i)
                here.push_back(endpoint);
        if (!here.empty() && is_on(i))
            join_groups(i, here);
    }
}

void Engine::State::join_groups(std::size_t i, const std::vector<Endpoint>& endpoints) {
    const port::Port& p = *ports[i];
    if (hosts[i]) {
        for (const Endpoint& e : endpoints)
            hosts[i]->igmp().want(e);
        wait_for_joins(*hosts[i]);
    }
    if (p.capabilities().membership == port::Membership::kernel_socket) {
        if (!memberships[i])
            memberships[i] = membership_of(p, plan.ports[i].vlan);
        try {
            for (const Endpoint& e : endpoints)
                memberships[i]->want(e);
            memberships[i]->join_all(interrupt_fd());
        } catch (const std::exception&) {
            for (const Endpoint& e : endpoints)
                memberships[i]->leave(e);
            throw;
        }
    }
    for (const Endpoint& e : endpoints)
        groups.emplace_back(i, e);
    std::sort(groups.begin(), groups.end());
}

/// Those that nobody wants any more.
void Engine::State::leave_groups(const Plan& wanted) {
    const auto all = groups_of(wanted);
    std::erase_if(groups, [&](const auto& group) {
        if (std::binary_search(all.begin(), all.end(), group))
            return false;
        const auto& [i, endpoint] = group;
        if (hosts[i])
            hosts[i]->igmp().leave(endpoint);
        if (memberships[i])
            memberships[i]->leave(endpoint);
        return true;
    });
}

void Engine::State::leave_groups() {
    memberships.clear();
    leave_with_own_hosts();
}

void Engine::State::add_host_rules() {
    for (const Queue& q : queues)
        if (hosts[q.port] && q.queue == 0)
            ports[q.port]->add_host_rules(0);
}

/// Rules that are no longer wanted, or not like this.
void Engine::State::remove_rules(const std::vector<PortRule>& wanted) {
    std::erase_if(rules, [&](const PortRule& r) {
        if (std::find(wanted.begin(), wanted.end(), r) != wanted.end())
            return false;
        ports[r.port]->remove_rule(r.rule.endpoint);
        return true;
    });
}

void Engine::State::add_rules(const std::vector<PortRule>& wanted) {
    for (const PortRule& r : wanted)
        if (is_on(r.port) && std::find(rules.begin(), rules.end(), r) == rules.end()) {
            ports[r.port]->add_rule(r.rule);
            rules.push_back(r);
        }
}

}  // namespace spead::runtime
