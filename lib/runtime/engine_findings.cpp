// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>

#include "port/netdev.hpp"
#include "runtime/engine_state.hpp"

/// What is lost and why, followed while the run goes on.
namespace spead::runtime {

namespace {

/// The kernel is asked so often why nothing comes.
constexpr auto kLook = std::chrono::seconds(1);

bool is_waiting(const stats::StreamSnapshot& s) {
    return s.state == "received" && s.received == 0;
}

}  // namespace

stats::Snapshot Engine::State::detailed_snapshot() {
    stats::Snapshot now = take_snapshot(LcoreLook::Depth::full);
    finding_log.observe(now);
    return now;
}

/// Streams, senders or ports of these names are others now. What happened before is what was seen of them
/// then: detailed_snapshot() goes before every change.
void Engine::State::parts_changed(const std::vector<std::string>& names) {
    stats::Snapshot now = take_snapshot(LcoreLook::Depth::full);
    finding_log.changed(now, names);
}

/// What is known of why streams get nothing. As it was a moment ago: the kernel is asked.
void Engine::State::tell_absences(stats::Snapshot& snap) {
    const bool waiting = std::any_of(snap.streams.begin(), snap.streams.end(), is_waiting);
    const Clock::time_point time = Clock::now();
    if (waiting && time >= next_look_at_absences) {
        next_look_at_absences = time + kLook;
        look_for_absences(snap);
    }
    for (std::size_t i = 0; i < snap.ports.size(); i++) {
        stats::PortSnapshot& p = snap.ports[i];
        p.link_down = ports[i].is_on() && !ports[i].link_up();
        if (waiting)
            ports[i].show_passed(p);
    }
    for (stats::StreamSnapshot& s : snap.streams)
        if (const auto found = unowned.find(s.number); is_waiting(s) && found != unowned.end())
            s.unowned = found->second;
}

void Engine::State::look_for_absences(const stats::Snapshot& snap) {
    std::vector<std::vector<Endpoint>> wanted(ports.size());
    unowned.clear();
    for (std::size_t i = 0; i < snap.streams.size(); i++) {
        if (!is_waiting(snap.streams[i]))
            continue;
        const ReceivePlan& r = plan.receives[i];
        const std::size_t p = ports.index_of(r.port);
        wanted[p].insert(wanted[p].end(), r.endpoints.begin(), r.endpoints.end());
        // Where we are no host of our own, the kernel answers ARP, for addresses that it has.
        if (ports[p].host() || ports[p].device().capabilities().membership != port::Membership::kernel_socket)
            continue;
        std::set<std::string> missing;
        for (const Endpoint& e : r.endpoints)
            if (!e.address.is_multicast() && port::netdev_of(e.address).empty())
                missing.insert(to_string(e.address));
        if (!missing.empty())
            unowned[snap.streams[i].number] = {missing.begin(), missing.end()};
    }
    for (std::size_t p = 0; p < ports.size(); p++) {
        ports[p].forget_passed();
        if (!wanted[p].empty() && ports[p].is_on())
            ports[p].look_for_passed(wanted[p]);
    }
}

}  // namespace spead::runtime
