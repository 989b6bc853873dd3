// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"
#include "runtime/engine_state.hpp"

/// What can happen to ports during a run.
namespace spead::runtime {

namespace {

/// How often the kernel is asked for links and files.
constexpr auto kLook = std::chrono::milliseconds(200);

}  // namespace

/// True when a port cannot go on: its file does not take what is written. One whose network interface has
/// gone waits for it.
bool Engine::State::ports_failed() {
    // Peers come and go; they are let in at once, and it is not for us to say that theirs have ended.
    ports.poll_peers();
    const Clock::time_point time = Clock::now();
    if (time < next_look_at_ports)
        return false;
    next_look_at_ports = time + kLook;
    log_settled(ports.link_news(), LogType::runtime, LogLevel::notice, "links");
    log_settled(senders.hop_news(), LogType::runtime, LogLevel::notice, "next hops");
    bool failed = false;
    for (std::size_t i = 0; i < ports.size(); i++) {
        // A silent lcore may be inside the port.
        if (is_silent_on(i))
            continue;
        if (ports[i].is_away())
            look_for(i);
        if (!ports[i].is_on())
            continue;
        const LivePort::Look look = ports[i].look(ports.link_news());
        failed |= look.failed;
        if (!look.gone.empty())
            lose_port(i, look.gone);
    }
    return failed;
}

}  // namespace spead::runtime
