// SPDX-License-Identifier: BSD-3-Clause
#include "port/arp_host.hpp"

#include <algorithm>
#include <array>

namespace spead::port {

void ArpHost::announce() {
    if (own_.ip.value == 0) {
        return;
    }
    announcements_ = kAnnouncements;
    announce_due_ = next_ = Time::min();
}

void ArpHost::resolve(Ipv4 host) {
    if (neighbours_.add(host)) {
        next_ = Time::min();
    }
}

void ArpHost::receive(std::span<const std::uint8_t> frame, Time now) {
    const std::optional<wire::ArpPacket> packet = wire::parse_arp(frame, own_);
    if (!packet || packet->sender_mac == own_.mac) {
        return;
    }
    if (own_.ip.value != 0 && packet->sender_ip == own_.ip) {
        conflict_ = packet->sender_mac;
    }
    // An announcement, or a request to another host, shows a new MAC address as well as a reply does.
    neighbours_.heard(packet->sender_ip, packet->sender_mac, now);
    if (packet->operation != wire::ArpOperation::request || own_.ip.value == 0 ||
        packet->target_ip != own_.ip) {
        return;
    }
    if (answers_.size() == kAnswersPerStep) {
        unanswered_++;
        return;
    }
    answers_.push_back(*packet);
    next_ = Time::min();
}

std::vector<Frame> ArpHost::step(Time now) {
    std::vector<Frame> out;
    for (const wire::ArpPacket& request : answers_) {
        push(out, request.sender_mac,
             {wire::ArpOperation::reply, own_.mac, own_.ip, request.sender_mac, request.sender_ip});
    }
    answers_.clear();
    next_ = Time::max();
    if (announcements_ != 0 && announce_due_ <= now) {
        push(out, wire::kBroadcastMac, {wire::ArpOperation::request, own_.mac, own_.ip, {}, own_.ip});
        announcements_--;
        announce_due_ = now + kAnnounceInterval;
    }
    if (announcements_ != 0) {
        next_ = announce_due_;
    }
    const Time ask = neighbours_.step(now, [&](Ipv4 host, const std::optional<MacAddress>& alone) {
        push(out, alone.value_or(wire::kBroadcastMac),
             {wire::ArpOperation::request, own_.mac, own_.ip, {}, host});
    });
    next_ = std::min(next_, ask);
    return out;
}

void ArpHost::push(std::vector<Frame>& out, const MacAddress& to, const wire::ArpPacket& packet) const {
    std::array<std::uint8_t, wire::kLeastFrame> bytes{};
    const std::size_t length = wire::build_arp(bytes, to, own_, packet);
    out.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
}

}  // namespace spead::port
