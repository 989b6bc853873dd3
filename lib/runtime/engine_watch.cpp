// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

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
    for (const auto& p : ports)
        if (p->capabilities().needs_peer)
            p->poll_link();
    const Clock::time_point time = Clock::now();
    if (time < next_look_at_ports)
        return false;
    next_look_at_ports = time + kLook;
    log_settled(link_news, LogType::runtime, LogLevel::notice, "links");
    log_settled(hop_news, LogType::runtime, LogLevel::notice, "next hops");
    links.resize(ports.size());
    peers.resize(ports.size());
    bool failed = false;
    for (std::size_t i = 0; i < ports.size(); i++) {
        if (away[i] && !is_silent_on(i))
            look_for(i);
        port::Port& p = *ports[i];
        // A silent lcore may be inside the port.
        if (off[i] || is_silent_on(i))
            continue;
        if (const std::string netdev = p.missing_netdev(); !netdev.empty()) {
            lose_port(i, netdev);
            continue;
        }
        // What exactly is missing is known when the port is stopped.
        failed |= !p.output_problem().empty();
        if (p.capabilities().needs_peer) {
            if (peers[i].update(p.link_up()))
                log_limited(link_news, LogType::runtime, LogLevel::notice,
                            "port {}: nobody is at the other end; waiting", p.name());
            continue;
        }
        switch (links[i].update(p.poll_link())) {
            case LinkWatch::News::lost:
                log_limited(link_news, LogType::runtime, LogLevel::notice, "port {}: its link is down",
                            p.name());
                break;
            case LinkWatch::News::back:
                log_limited(link_news, LogType::runtime, LogLevel::notice, "port {}: its link is up again",
                            p.name());
                break;
            case LinkWatch::News::none:
                break;
        }
    }
    return failed;
}

}  // namespace spead::runtime
