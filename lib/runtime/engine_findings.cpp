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

/// How much a packet looks like one that an endpoint waits for: by its group, else by its port.
int likeness(const port::PassedPackets& passed, const std::vector<Endpoint>& wanted) {
    int best = 0;
    for (const Endpoint& e : wanted)
        best = std::max(best, e.address == passed.endpoint.address ? 2
                              : e.port == passed.endpoint.port     ? 1
                                                                   : 0);
    return best;
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
        p.link_down = i < links.size() && is_on(i) && (!links[i].up() || !peers[i].up());
        if (waiting && i < passed.size())
            p.passed = passed[i];
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
        const std::size_t p = port_index(r.port);
        wanted[p].insert(wanted[p].end(), r.endpoints.begin(), r.endpoints.end());
        // Where we are no host of our own, the kernel answers ARP, for addresses that it has.
        if (hosts[p] || ports[p]->capabilities().membership != port::Membership::kernel_socket)
            continue;
        std::set<std::string> missing;
        for (const Endpoint& e : r.endpoints)
            if (!e.address.is_multicast() && port::netdev_of(e.address).empty())
                missing.insert(to_string(e.address));
        if (!missing.empty())
            unowned[snap.streams[i].number] = {missing.begin(), missing.end()};
    }
    passed.assign(ports.size(), {});
    for (std::size_t p = 0; p < ports.size(); p++) {
        if (wanted[p].empty() || !is_on(p))
            continue;
        std::vector<port::PassedPackets> all = ports[p]->passed();
        std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
            return std::pair(likeness(a, wanted[p]), a.packets) >
                   std::pair(likeness(b, wanted[p]), b.packets);
        });
        all.resize(std::min(all.size(), stats::PortSnapshot::kPassed));
        for (const port::PassedPackets& one : all)
            passed[p].push_back({to_string(one.endpoint), to_string(one.source), one.packets});
    }
}

}  // namespace spead::runtime
