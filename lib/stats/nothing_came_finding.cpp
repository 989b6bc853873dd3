// SPDX-License-Identifier: BSD-3-Clause
#include "stats/nothing_came_finding.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/outcome.hpp"
#include "base/shell_word.hpp"
#include "stats/stream_ports.hpp"
#include "stats/stream_senders.hpp"

namespace spead::stats {

namespace {

/// Holds the seconds without packets after which a stream is reported: the page shows it a second later.
constexpr double kPatience = 1;

/// Returns the actions for a sender of which nothing comes to the port.
Cures look_for_sender(const StreamSnapshot& s, const PortSnapshot& port, const Advice& advice) {
    const std::string known = named_senders(advice.snapshot(), s.name);
    const std::string sends = known.empty()
                                  ? std::string("check whether the sender sends")
                                  : fmt::format("check at {} whether packets are still sent", known);
    Cures cures = port.joins_groups && may_have_groups(s)
                      ? fmt::format(
                            "{} on this network, and whether the switches forward the group ({} "
                            "snooping needs a querier)",
                            sends, membership_protocol(s))
                      : sends + " to these endpoints";
    if (std::string see = advice.see_own_arrivals(s, port, known.empty() ? "the sender" : known);
        !see.empty())
        cures.insert(cures.begin(), std::move(see));
    return cures;
}

/// Returns the same if its packets may have other destinations.
Cures find_sender(const StreamSnapshot& s, const PortSnapshot& port, const Advice& advice) {
    Cures cures = look_for_sender(s, port, advice);
    for (std::string& more : advice.receive_strays(s, port))
        cures.push_back(std::move(more));
    return cures;
}

/// Returns "without a packet: port p0 has no link", for these ports.
std::string without_link(const std::vector<const PortSnapshot*>& down) {
    std::vector<std::string_view> names;
    for (const PortSnapshot* p : down)
        names.push_back(p->name);
    return fmt::format("without a packet: port{} {} {} no link", down.size() == 1 ? "" : "s",
                       fmt::join(names, " and "), down.size() == 1 ? "has" : "have");
}

Cures mend_links(const std::vector<const PortSnapshot*>& down) {
    Cures cures = "look at the cable and at the other end";
    for (const PortSnapshot* p : down)
        if (!p->settings.interface.empty())
            cures.push_back(
                fmt::format("`ip link show {0}` shows its state; `ip link set {0} up` if it is down",
                            shell_word(p->settings.interface)));
    return cures;
}

struct Reason {
    std::string what;
    Cures cures;
};

/// Returns the actions for packets that a port's rules left to the kernel, although they are a stream's.
Cures for_left_packets(const PortSnapshot& p, const Advice& advice) {
    Cures cures = advice.reassemble(p, Advice::FragmentsAre::with_kernel);
    if (!p.settings.interface.empty())
        cures.insert(
            cures.begin(),
            fmt::format("`ethtool -l {0}` shows the queues of {0}: the port reads those that its device "
                        "names; if the packets have VLAN tags: `ethtool -K {0} rxvlan off`, and `vlan` in "
                        "[[port]]",
                        shell_word(p.settings.interface)));
    return cures;
}

/// Finds packets of the stream that the rules of a port left to the kernel all the same.
std::optional<Reason> left_to_kernel(const StreamSnapshot& s, const Advice& advice) {
    for (const PortSnapshot& p : advice.snapshot().ports)
        for (const PassedSnapshot& packets : p.passed)
            if (s.comes_by(p.name) && Advice::is_for(s, packets))
                return Reason{
                    fmt::format("without a packet, while the rules of port {} left some for {} to the kernel "
                                "({}, the last from {}): they came as IP fragments, in another VLAN, or on a "
                                "queue that the port does not read",
                                p.name, packets.endpoint, packets.packets, packets.source),
                    for_left_packets(p, advice)};
    return std::nullopt;
}

/// Finds IP fragments of streams' datagrams that a port had and refused.
std::optional<Reason> refused_fragments(const StreamSnapshot& s, const Advice& advice) {
    for (const PortSnapshot& p : advice.snapshot().ports)
        if (const std::uint64_t fragments = since_change(p, s).reassembly.wanted;
            fragments != 0 && p.reassembly_places == 0 && s.comes_by(p.name))
            return Reason{fmt::format("without a packet, while port {} had {}, which are not reassembled",
                                      p.name, counted(fragments, "IP fragments")),
                          advice.reassemble(p, Advice::FragmentsAre::here)};
    return std::nullopt;
}

bool may_use_ipv6(const StreamSnapshot& s) {
    return membership_protocol(s) != "IGMP";
}

/// Says what came to the port, if it had no packet for the stream and none that nobody wants.
std::string what_came(const StreamSnapshot& s, const PortSnapshot& port) {
    const auto of = [&port](PortOutcome o) { return port.rx[static_cast<std::size_t>(o)]; };
    if (of(PortOutcome::stream) != 0)
        return fmt::format("while other streams of {} had some", port.name);
    if (port.rx_packets == 0)
        return {};
    if (const std::uint64_t wrong = of(PortOutcome::bad_checksum); wrong != 0)
        return fmt::format("while {} had {} with a wrong checksum{}", port.name, counted(wrong, "packets"),
                           may_use_ipv6(s) ? ", or without the one that IPv6 demands" : "");
    if (of(PortOutcome::unmatched) != 0)
        return fmt::format("while {} had packets for no stream, before its last change", port.name);
    if (const std::uint64_t cut = of(PortOutcome::incomplete); cut != 0)
        return fmt::format("while {} had {} of packets that were never whole", port.name,
                           counted(cut, "IP fragments"));
    if (const std::uint64_t fragments = of(PortOutcome::fragment);
        fragments != 0 && port.reassembly_places == 0)
        return fmt::format("while {} had {} that cannot be reassembled", port.name,
                           counted(fragments, "IP fragments"));
    return fmt::format("while {} had other packets than UDP{}", port.name,
                       of(PortOutcome::not_udp) != 0 && may_use_ipv6(s)
                           ? ", or some behind a routing header or long options of IPv6"
                           : "");
}

/// Returns whether the stream had packets, and has had none for longer than it may.
bool has_become_silent(const StreamSnapshot& s) {
    return s.received != 0 && s.health == name_of(StreamEvent::silent);
}

/// Finds that the packets of a stream have stopped.
std::optional<Finding> became_silent(const StreamSnapshot& s, const Advice& advice) {
    const Snapshot& snapshot = advice.snapshot();
    const std::optional<PortSnapshot> port = ports_of(snapshot, s);
    if (!port)
        return std::nullopt;
    const double seconds = snapshot.duration_s - (s.last_event ? s.last_event->at_s : s.changed_s);
    const std::vector<const PortSnapshot*> down = ports_without_link(snapshot, s);
    const std::string senders = named_senders(snapshot, s.name);
    return Finding{
        Cause::nothing_came, Stage::network, s.name, static_cast<std::uint64_t>(std::max(seconds, 1.0)),
        "seconds",
        down.empty() ? fmt::format("without a packet since it became silent; {} had come before{}{}",
                                   counted(s.received, "packets"), senders.empty() ? "" : ", from ", senders)
                     : without_link(down),
        // Its endpoints were right before. Packets for nobody may be its own, sent elsewhere.
        !down.empty()          ? mend_links(down)
        : port->strays.empty() ? look_for_sender(s, *port, advice)
                               : find_sender(s, *port, advice)};
}

}  // namespace

bool waits_for_packets(const StreamSnapshot& s) {
    return s.received == 0 && (s.state.empty() || s.state == "received");
}

std::optional<Finding> nothing_came_finding(const StreamSnapshot& s, const Advice& advice) {
    const Snapshot& snapshot = advice.snapshot();
    if (has_become_silent(s))
        return became_silent(s, advice);
    const double seconds = snapshot.duration_s - s.changed_s;
    if (!waits_for_packets(s) || seconds < kPatience)
        return std::nullopt;
    // Packets for no stream are a finding of their port, whose counts may begin later.
    if (std::ranges::any_of(snapshot.ports, [&s](const PortSnapshot& p) {
            return s.comes_by(p.name) && p.rx[static_cast<std::size_t>(PortOutcome::unmatched)] != 0;
        }))
        return std::nullopt;
    const std::optional<PortSnapshot> port = ports_of(snapshot, s);
    if (!port)
        return std::nullopt;
    const auto say = [&](std::string what, Cures cures) {
        return Finding{
            Cause::nothing_came, Stage::network,  s.name,          static_cast<std::uint64_t>(seconds),
            "seconds",           std::move(what), std::move(cures)};
    };
    if (const std::vector<const PortSnapshot*> down = ports_without_link(snapshot, s); !down.empty())
        return say(without_link(down), mend_links(down));
    const std::string interface =
        port->settings.interface.empty() ? "INTERFACE" : shell_word(port->settings.interface);
    if (!s.unowned.empty())
        return say(fmt::format("without a packet: no network interface here has the address {}, so nobody "
                               "answers who asks for it (ARP, NDP)",
                               fmt::join(s.unowned, ", ")),
                   fmt::format("give it to the interface (`ip addr add {} dev {}`), or send to one of its "
                               "addresses",
                               s.unowned.front(), interface));
    if (std::optional<Reason> left = left_to_kernel(s, advice))
        return say(std::move(left->what), std::move(left->cures));
    if (!port->passed.empty()) {
        const PassedSnapshot& most = port->passed.front();
        return say(fmt::format("without a packet, while {} left UDP packets to the kernel, most of them "
                               "({}) for {} from {}",
                               port->name, most.packets, most.endpoint, most.source),
                   advice.receive_strays(s, *port));
    }
    if (std::optional<Reason> refused = refused_fragments(s, advice)) {
        std::ranges::move(find_sender(s, *port, advice), std::back_inserter(refused->cures));
        return say(std::move(refused->what), std::move(refused->cures));
    }
    const std::string came = what_came(s, *port);
    return say(came.empty() ? fmt::format("without a packet, and {} had none at all", port->name)
                            : "without a packet, " + came,
               find_sender(s, *port, advice));
}

}  // namespace spead::stats
