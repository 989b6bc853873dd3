// SPDX-License-Identifier: BSD-3-Clause
#include "port/ndp_host.hpp"

#include <algorithm>
#include <array>

namespace spead::port {

using wire::NdpPacket;
using wire::NdpType;

NdpHost::NdpHost(const wire::LinkAddress& own, const Ipv6& address) : own_(own), addresses_{own.link_local} {
    if (!wire::is_unspecified(address) && address != own.link_local) {
        addresses_.push_back(address);
    }
}

void NdpHost::announce() {
    probe_ = true;
    announcements_ = kAnnouncements;
    announce_due_ = next_ = Time::min();
}

void NdpHost::resolve(const Ipv6& host) {
    if (neighbours_.add(host)) {
        next_ = Time::min();
    }
}

bool NdpHost::is_ours(const Ipv6& address) const {
    return std::ranges::find(addresses_, address) != addresses_.end();
}

void NdpHost::receive(std::span<const std::uint8_t> frame, Time now) {
    const std::optional<NdpPacket> packet = wire::parse_ndp(frame, own_);
    if (!packet || packet->sender_mac == own_.mac) {
        return;
    }
    if (packet->type == NdpType::advertisement) {
        hear_advertisement(*packet, now);
    } else {
        hear_solicitation(*packet, now);
    }
}

/// Takes a MAC address over by RFC 4861 7.2.5: one that contradicts what is known only if it says that it
/// replaces that. An answer without one confirms what is known.
void NdpHost::hear_advertisement(const NdpPacket& packet, Time now) {
    if (is_ours(packet.target)) {
        conflict_ = packet.mac.value_or(packet.sender_mac);
        return;
    }
    const std::optional<MacAddress> known = neighbours_.find(packet.target);
    if (packet.mac && (!known || packet.replaces || *known == *packet.mac)) {
        neighbours_.heard(packet.target, *packet.mac, now, packet.solicited ? kRefresh : kUnasked);
    } else if (!packet.mac && packet.solicited && known) {
        neighbours_.heard(packet.target, *known, now);
    }
}

void NdpHost::hear_solicitation(const NdpPacket& packet, Time now) {
    if (is_ours(packet.from)) {
        conflict_ = packet.mac.value_or(packet.sender_mac);
    }
    // One to another host tells nothing of its sender (RFC 4861 7.2.3).
    if (!is_ours(packet.target)) {
        return;
    }
    if (packet.mac) {
        neighbours_.heard(packet.from, *packet.mac, now, kUnasked);
    }
    if (wire::is_unspecified(packet.from)) {
        conflict_ = packet.sender_mac;  // it is about to take the address
    }
    if (answers_.size() == kAnswersPerStep) {
        unanswered_++;
        return;
    }
    answers_.push_back(packet);
    next_ = Time::min();
}

std::vector<Frame> NdpHost::step(Time now) {
    std::vector<Frame> out;
    for (const NdpPacket& solicitation : answers_) {
        answer(out, solicitation);
    }
    answers_.clear();
    next_ = Time::max();
    speak_of_ourselves(out, now);
    next_ =
        std::min(next_, neighbours_.step(now, [&](const Ipv6& host, const std::optional<MacAddress>& mac) {
            ask(out, host, mac);
        }));
    return out;
}

void NdpHost::answer(std::vector<Frame>& out, const NdpPacket& solicitation) const {
    NdpPacket reply;
    reply.type = NdpType::advertisement;
    reply.from = reply.target = solicitation.target;
    reply.mac = own_.mac;
    reply.replaces = true;
    if (wire::is_unspecified(solicitation.from)) {
        reply.to = wire::kAllNodes;
        push(out, wire::multicast_mac6(reply.to), reply);
        return;
    }
    reply.to = solicitation.from;
    reply.solicited = true;
    push(out, solicitation.mac.value_or(solicitation.sender_mac), reply);
}

/// Asks whether our addresses are taken (RFC 4862 5.4.2), or announces them (RFC 4861 7.2.6).
void NdpHost::speak_of_ourselves(std::vector<Frame>& out, Time now) {
    if ((probe_ || announcements_ != 0) && announce_due_ <= now) {
        for (const Ipv6& address : addresses_) {
            NdpPacket packet;
            packet.target = address;
            if (probe_) {
                packet.to = wire::solicited_node(address);
            } else {
                packet.type = NdpType::advertisement;
                packet.from = address;
                packet.to = wire::kAllNodes;
                packet.mac = own_.mac;
                packet.replaces = true;
            }
            push(out, wire::multicast_mac6(packet.to), packet);
        }
        announcements_ -= probe_ ? 0 : 1;
        announce_due_ = now + (probe_ ? kProbeTime : kAnnounceInterval);
        probe_ = false;
    }
    if (announcements_ != 0) {
        next_ = announce_due_;
    }
}

void NdpHost::ask(std::vector<Frame>& out, const Ipv6& host, const std::optional<MacAddress>& alone) const {
    NdpPacket packet;
    packet.from = wire::is_link_local_unicast(host) ? addresses_.front() : addresses_.back();
    packet.to = alone ? host : wire::solicited_node(host);
    packet.target = host;
    packet.mac = own_.mac;
    push(out, alone.value_or(wire::multicast_mac6(packet.to)), packet);
}

void NdpHost::push(std::vector<Frame>& out, const MacAddress& to, const NdpPacket& packet) const {
    std::array<std::uint8_t, wire::kNdpRoom> bytes{};
    const std::size_t length = wire::build_ndp(bytes, to, own_, packet);
    out.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
}

}  // namespace spead::port
