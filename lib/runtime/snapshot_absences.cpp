// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <set>

#include "port/netdev.hpp"
#include "runtime/paths.hpp"
#include "runtime/snapshots.hpp"

/// Finds why streams receive nothing.
namespace spead::runtime {

namespace {

/// Holds the interval at which the kernel is asked why no packets arrive.
constexpr auto kLook = std::chrono::seconds(1);

bool is_waiting(const stats::StreamSnapshot& s) {
    return s.state == "received" && s.received == 0;
}

}  // namespace

/// Adds the known reasons why streams receive nothing. They may be a moment old, because the kernel is asked.
void Snapshots::add_absences(stats::Snapshot& snap) {
    const bool waiting = std::any_of(snap.streams.begin(), snap.streams.end(), is_waiting);
    const auto time = std::chrono::steady_clock::now();
    if (waiting && time >= next_look_at_absences_) {
        next_look_at_absences_ = time + kLook;
        look_for_absences(snap);
    }
    for (std::size_t i = 0; i < snap.ports.size(); i++) {
        stats::PortSnapshot& p = snap.ports[i];
        p.link_down = of_.ports[i].is_on() && !of_.ports[i].link_up();
        if (waiting)
            of_.ports[i].show_passed(p);
    }
    for (stats::StreamSnapshot& s : snap.streams)
        if (const auto found = unowned_.find(s.number); is_waiting(s) && found != unowned_.end())
            s.unowned = found->second;
}

void Snapshots::look_for_absences(const stats::Snapshot& snap) {
    std::vector<std::vector<Endpoint>> wanted(of_.ports.size());
    unowned_.clear();
    for (std::size_t i = 0; i < snap.streams.size(); i++) {
        if (!is_waiting(snap.streams[i]))
            continue;
        std::set<std::string> missing;
        for_each_path(of_.plan.receives[i],
                      [&](std::size_t, const std::string& port, const std::vector<Endpoint>& endpoints) {
                          const std::size_t p = of_.ports.index_of(port);
                          wanted[p].insert(wanted[p].end(), endpoints.begin(), endpoints.end());
                          // Without our own host, the kernel answers ARP for addresses that it has.
                          const port::Membership by = of_.ports[p].device().capabilities().membership;
                          if (of_.ports[p].host() ||
                              (by != port::Membership::kernel_socket && by != port::Membership::rules))
                              return;
                          for (const Endpoint& e : endpoints)
                              if (!e.address.is_multicast() && port::netdev_of(e.address).empty())
                                  missing.insert(to_string(e.address));
                      });
        if (!missing.empty())
            unowned_[snap.streams[i].number] = {missing.begin(), missing.end()};
    }
    for (std::size_t p = 0; p < of_.ports.size(); p++) {
        // A device that has stopped tells nothing: the report at the end has what was seen before.
        if (!of_.ports[p].is_on() || !of_.ports[p].device().started())
            continue;
        of_.ports[p].forget_passed();
        if (!wanted[p].empty())
            of_.ports[p].look_for_passed(wanted[p]);
    }
}

}  // namespace spead::runtime
