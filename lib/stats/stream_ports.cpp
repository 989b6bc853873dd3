// SPDX-License-Identifier: BSD-3-Clause
#include "stats/stream_ports.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "base/error.hpp"
#include "stats/rates.hpp"

namespace spead::stats {

std::vector<PortPackets> packets_of_ports(const Snapshot& snapshot) {
    std::vector<PortPackets> all;
    for (const PortSnapshot& p : snapshot.ports)
        all.push_back({p.name, p.rx, p.rx_packets, p.reassembly.wanted});
    return all;
}

PortSnapshot since_change(const PortSnapshot& port, const StreamSnapshot& s) {
    PortSnapshot copy = port;
    if (const PortPackets* const packets = find(s.port_packets, port.name)) {
        copy.rx = packets->rx;
        copy.rx_packets = packets->rx_packets;
        copy.reassembly.wanted = packets->wanted_fragments;
    }
    return copy;
}

std::optional<PortSnapshot> ports_of(const Snapshot& snapshot, const StreamSnapshot& s) {
    const PortSnapshot* const first = find(snapshot.ports, s.port);
    if (first == nullptr)
        return std::nullopt;
    PortSnapshot all = since_change(*first, s);
    all.name = "port " + first->name;
    for (const std::string& path : s.path_ports) {
        const PortSnapshot* const other = find(snapshot.ports, path);
        if (other == nullptr || other == first)
            continue;
        all.name = fmt::format("ports {} and {}", first->name, other->name);
        const PortSnapshot since = since_change(*other, s);
        for (std::size_t i = 0; i < kPortOutcomes; i++)
            all.rx[i] += since.rx[i];
        all.rx_packets += since.rx_packets;
        if (other->settings.interface != first->settings.interface)
            all.settings.interface.clear();
        all.link_down |= other->link_down;
        all.reassembly_places = std::max(all.reassembly_places, other->reassembly_places);
        all.joins_groups |= other->joins_groups;
        all.passed.insert(all.passed.end(), other->passed.begin(), other->passed.end());
        all.strays.insert(all.strays.end(), other->strays.begin(), other->strays.end());
    }
    std::ranges::stable_sort(all.passed, std::ranges::greater{}, &PassedSnapshot::packets);
    std::ranges::stable_sort(all.strays, std::ranges::greater{}, &PassedSnapshot::packets);
    return all;
}

std::vector<const PortSnapshot*> ports_without_link(const Snapshot& snapshot, const StreamSnapshot& s) {
    std::vector<const PortSnapshot*> found;
    for (const PortSnapshot& p : snapshot.ports)
        if (p.link_down && s.comes_by(p.name))
            found.push_back(&p);
    return found;
}

std::vector<Endpoint> meant_by(const std::string& text) {
    try {
        return parse_endpoints(text);
    } catch (const Error&) {
        return {};
    }
}

bool may_have_groups(const StreamSnapshot& s) {
    return s.endpoints.empty() || std::ranges::any_of(s.endpoints, [](const std::string& text) {
               return std::ranges::any_of(meant_by(text),
                                          [](const Endpoint& e) { return e.address.is_multicast(); });
           });
}

bool joins_groups(const Snapshot& snapshot, const StreamSnapshot& s) {
    return may_have_groups(s) && std::ranges::any_of(snapshot.ports, [&s](const PortSnapshot& p) {
               return p.joins_groups && s.comes_by(p.name);
           });
}

std::string_view membership_protocol(const StreamSnapshot& s) {
    const auto six = std::ranges::count_if(
        s.endpoints, [](const std::string& text) { return text.find('[') != std::string::npos; });
    const auto all = static_cast<std::ptrdiff_t>(s.endpoints.size());
    return six == 0 ? "IGMP" : six == all ? "MLD" : "IGMP or MLD";
}

}  // namespace spead::stats
