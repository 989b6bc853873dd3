// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine_state.hpp"

/// Senders whose port takes nothing are reported once, through every channel.
namespace spead::runtime {

/// `now` counts since the start; its senders' counts are those that were taken with it.
void Engine::State::watch_sends(double now) {
    for (const auto& s : senders.planned()) {
        const LivePort& port = ports[s->port];
        const SendHealth::Look look{s->plan.enabled && port.is_on() && !s->worker->lost, s->stuck,
                                    s->counts.outages, port.plan().name,
                                    s->counts.outages == 0 ? std::string() : senders.suspects_of(*s)};
        for (const stats::LastEvent& event : s->health.update(now, look))
            tell(s->plan.name, event);
    }
}

}  // namespace spead::runtime
