// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "port/source_address.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/sender_set.hpp"

/// Follows the addresses that packets of senders come from. They are those of the kernel's interface, which
/// may get them during the run (DHCP, the kernel's search for duplicates) and lose them again.
namespace spead::runtime {

IpAddress SenderSet::source_of(const SendPlan& s, const LivePort& port, const IpAddress& now) {
    const bool v6 = is_ipv6(s);
    const IpAddress own = v6 ? IpAddress(port.plan().address6) : IpAddress(port.plan().address);
    if (!own.is_unspecified())
        return own;
    const std::string netdev = kernel_side(port.device(), port.plan().vlan);
    // The interface of the VLAN has gone: the port's own addresses are of another network.
    if (port.plan().vlan && !now.is_unspecified() && !netdev.empty() && netdev == port.device().netdev())
        return now;
    const std::vector<port::SourceAddress> all =
        netdev.empty() ? std::vector<port::SourceAddress>{} : port::source_addresses(netdev);
    if (const IpAddress best = port::choose_source(all, v6, now); !best.is_unspecified())
        return best;
    // Without one of the kernel's, a link-local address follows from the MAC address.
    return v6 ? IpAddress(port.device().source_address6()) : IpAddress(port.device().source_address());
}

/// Gives a changed address to the sender's lcore. Built packets keep the former one.
void SenderSet::follow_source(SendStream& s) {
    const LivePort& port = ports_[s.port];
    // A silent lcore gets it when it answers again.
    if (!port.is_on() || port.host() || s.worker->watch.silent())
        return;
    IpAddress now;
    try {
        now = source_of(s.plan, port, s.source);
    } catch (const Error&) {
        return;  // the kernel cannot be asked at present
    }
    if (now == s.source)
        return;
    log_limited(hop_news_, LogType::runtime, LogLevel::notice,
                "send {}: packets come from {} now, no longer from {}", s.plan.name, to_string(now),
                to_string(s.source));
    s.source = now;
    lcores_.ask(
        *s.worker,
        [](send::Sender* sender, MacAddress mac, IpAddress from) { sender->set_source(mac, from); },
        s.sender.get(), port.device().mac(), now);
}

}  // namespace spead::runtime
