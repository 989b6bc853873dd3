// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/send_health.hpp"

#include <utility>

#include <fmt/core.h>

namespace spead::runtime {

using stats::StreamEvent;

std::string suspects_of(const PortNature& port) {
    if (port.own_ring && !port.engine.empty())
        return fmt::format(
            "its ring is not emptied, because the engine `{}` stands still; look at that first", port.engine);
    if (port.own_ring)
        return "its ring is not emptied: receive its endpoints on the same port, and check whether their "
               "consumer has stopped";
    if (!port.link_up)
        return port.needs_peer ? "no process is at its other end" : "its link is down";
    const std::uint32_t datagram = port.udp_bytes + port.header_bytes;
    if (datagram > port::kUsualMtu)
        return fmt::format(
            "the first suspect is the MTU: its packets have {} bytes with IP and UDP, and its other end or a "
            "link between may hold less; raise their MTU or lower its `max_packet_size` ({} fits {})",
            datagram, port::kUsualMtu - port.header_bytes, port::kUsualMtu);
    return port.needs_peer ? "its peer takes no packets: check whether it receives"
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
