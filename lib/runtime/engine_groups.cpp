// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_state.hpp"

namespace spead::runtime {

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
        memberships.push_back(std::make_unique<port::KernelMembership>(p.if_index(), p.netdev()));
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
