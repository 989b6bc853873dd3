// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_state.hpp"

/// Senders whose port takes nothing: told once, by every way there is.
namespace spead::runtime {

std::string Engine::State::suspects_of(const SendStream& s) const {
    const port::Port& p = ports[s.port].device();
    return runtime::suspects_of(
        {p.link_up(), p.capabilities().receives_own, p.capabilities().needs_peer, s.plan.max_packet_size});
}

/// `now` counts since the start; its senders' counts are those that were taken with it.
void Engine::State::watch_sends(double now) {
    for (const auto& s : sends) {
        const SendHealth::Look look{s->plan.enabled && ports[s->port].is_on() && !s->worker->lost, s->stuck,
                                    s->counts.outages, plan.ports[s->port].name,
                                    s->counts.outages == 0 ? std::string() : suspects_of(*s)};
        for (const stats::LastEvent& event : s->health.update(now, look))
            tell(s->plan.name, event);
    }
}

void Engine::State::add_send_health(const SendStream& s, stats::SendSnapshot& to) const {
    to.port = plan.ports[s.port].name;
    to.health = s.health.state();
    to.suspects = s.health.suspects();
    to.events = s.health.events();
    to.last_event = s.health.last_event();
}

}  // namespace spead::runtime
