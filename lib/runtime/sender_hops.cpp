// SPDX-License-Identifier: BSD-3-Clause
#include <thread>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/interruptible.hpp"
#include "base/log.hpp"
#include "port/neighbours.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/waits.hpp"

/// Follows the MAC addresses of unicast destinations, which may change during a run. They come from the
/// kernel or our own ARP hosts.
namespace spead::runtime {

namespace {

/// Holds the interval between looks at the kernel's addresses and neighbour tables, and how many destinations
/// of a sender are looked up at once.
constexpr auto kLookAtAddresses = std::chrono::seconds(1);
constexpr std::size_t kHopsAtOnce = 32;

}  // namespace

/// Waits until `end` at most for replies of the sender's destinations, before it begins.
void SenderSet::resolve_next_hops(SendStream& s, Clock::time_point end, int interrupt_fd) {
    if (!ports_[s.port].host() || s.hops.empty())
        return;
    LinkHost& host = *ports_[s.port].host();
    const PortPlan& port = ports_[s.port].plan();
    if (is_ipv6(s.plan))
        ports_[s.port].device().use_ipv6();
    for (const NextHop& hop : s.hops.all())
        host.resolve(hop.address);
    for (const NextHop& hop : s.hops.all())
        while (host.find(hop.address) == std::nullopt) {
            if (Clock::now() > end)
                throw_error(fmt::format("send {}", s.plan.name),
                            "no MAC address for {}: it did not answer {} on port {}{}; for a host "
                            "behind a router, give the router's with `dst_mac` (--dst-mac)",
                            to_string(hop.address),
                            hop.address.is_v4() ? "ARP requests" : "neighbour solicitations",
                            ports_[s.port].device().name(),
                            hop.address.is_v4() && port.address.value == 0
                                ? ", which has no address (`address` of its [[port]], --address)"
                            : hop.address.is_v6() && !hop.address.is_link_local() &&
                                    wire::is_unspecified(port.address6)
                                ? ", which has no IPv6 address but its link-local one (`address6` of its "
                                  "[[port]], --address)"
                                : "");
            ports_.serve_hosts();
            wait_interruptibly(interrupt_fd, kStep, fmt::format("send {}", s.plan.name),
                               fmt::format("{} was asked for its MAC address", to_string(hop.address)));
        }
    follow_next_hops(s);
}

void SenderSet::follow_addresses() {
    const Clock::time_point now = Clock::now();
    const bool look = now >= next_look_;
    if (look)
        next_look_ = now + kLookAtAddresses;
    for (const auto& s : planned_) {
        if (look)
            follow_source(*s);
        if (ports_[s->port].host() || look)
            follow_next_hops(*s);
    }
}

/// Gives changed MAC addresses to the sender's lcore. A destination without a reply keeps its last one.
void SenderSet::follow_next_hops(SendStream& s) {
    // A silent lcore gets it when it answers again.
    if (s.hops.empty() || s.worker->watch.silent())
        return;
    const auto follow = [&](NextHop& hop, const std::optional<MacAddress>& mac) {
        if (!mac || *mac == hop.mac)
            return;
        if (hop.mac != MacAddress{})
            log_limited(hop_news_, LogType::runtime, LogLevel::notice,
                        "send {}: packets to {} go to {} now, no longer to {}", s.plan.name,
                        to_string(hop.address), mac_text(*mac), mac_text(hop.mac));
        lcores_.ask(
            *s.worker,
            [](send::Sender* sender, std::uint32_t substream, MacAddress to) {
                sender->set_mac(substream, to);
            },
            s.sender.get(), hop.substream, *mac);
        hop.mac = *mac;
    };
    if (ports_[s.port].host()) {
        for (NextHop& hop : s.hops.all())
            follow(hop, ports_[s.port].host()->find(hop.address));
        return;
    }
    const std::vector<NextHop*> due = s.hops.due(kHopsAtOnce);
    std::vector<IpAddress> addresses;
    addresses.reserve(due.size());
    for (const NextHop* const hop : due)
        addresses.push_back(hop->address);
    const LivePort& port = ports_[s.port];
    const auto macs = port::look_at_next_hops(kernel_side(port.device(), port.plan().vlan), addresses);
    for (std::size_t i = 0; i < due.size(); i++)
        follow(*due[i], macs[i]);
    s.hops.note_looked_at(due.size());
}

}  // namespace spead::runtime
