// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_state.hpp"

namespace spead::runtime {

/// The kernel tells the network which groups we want, on ports whose interface it still sees. Consumers are
/// armed and lcores poll by now: what comes at once is received.
void Engine::State::join_groups() {
    for (const ReceivePlan& r : plan.receives) {
        const port::Port& p = *ports[port_index(r.port)];
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
}

}  // namespace spead::runtime
