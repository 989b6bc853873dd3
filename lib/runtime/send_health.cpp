// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/send_health.hpp"

#include <utility>

#include <fmt/core.h>

namespace spead::runtime {

using stats::StreamEvent;

namespace {

/// IPv4 and UDP headers.
constexpr std::uint32_t kHeaders = 28;
/// What every Ethernet carries.
constexpr std::uint32_t kUsualMtu = 1500;

}  // namespace

std::string suspects_of(const PortNature& port) {
    if (port.own_ring)
        return "nobody takes packets out of its ring: receive its endpoints on the same port, and look "
               "whether "
               "their consumer stands still";
    if (!port.link_up)
        return port.needs_peer ? "nobody is at its other end" : "its link is down";
    const std::uint32_t datagram = port.udp_bytes + kHeaders;
    if (datagram > kUsualMtu)
        return fmt::format(
            "the first suspect is the MTU: its packets are {} bytes long with IP and UDP, more than its "
            "other "
            "end, or a link between, may hold; raise the MTU there or lower --max-packet-size ({} fits {})",
            datagram, kUsualMtu - kHeaders, kUsualMtu);
    return port.needs_peer ? "its peer takes nothing: look whether it receives"
                           : "look at its link, at flow control (PAUSE) and at its interface's queue "
                             "(ip -s link, tc -s qdisc)";
}

std::vector<stats::LastEvent> SendHealth::update(double now, const Look& look) {
    const bool more = look.outages > outages_;
    outages_ = look.outages;
    if (more || (look.stuck && suspects_.empty()))
        suspects_ = look.suspects;
    on_ = look.on;
    if (!look.on) {
        // Its port has stopped, which is reported elsewhere.
        stuck_ = false;
        return {};
    }
    if (more && !stuck_) {
        stuck_ = true;
        since_ = now;
        raise(StreamEvent::stuck, now,
              fmt::format("port {} has taken nothing for a second; {}", look.port, suspects_));
    }
    if (!look.stuck && stuck_) {
        stuck_ = false;
        raise(StreamEvent::unstuck, now,
              fmt::format("port {} takes packets again, after {:.1f} s", look.port, now - since_ + 1));
    }
    return std::exchange(news_, {});
}

void SendHealth::raise(StreamEvent kind, double now, std::string text) {
    events_[static_cast<std::size_t>(kind) - stats::kStreamEvents]++;
    last_ = stats::LastEvent{kind, now, std::move(text)};
    news_.push_back(*last_);
}

}  // namespace spead::runtime
