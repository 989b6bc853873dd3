// SPDX-License-Identifier: BSD-3-Clause
#include "replay/rewrite.hpp"

#include <algorithm>
#include <cstring>

#include "base/byte_order.hpp"
#include "wire/net.hpp"

namespace spead::replay {

namespace {

/// Updates a checksum field for changed words.
class Sum {
  public:
    explicit Sum(std::uint16_t checksum) : sum_(static_cast<std::uint16_t>(~checksum)) {}

    void replace16(std::uint16_t before, std::uint16_t after) {
        sum_ += static_cast<std::uint16_t>(~before);
        sum_ += after;
    }
    void replace32(std::uint32_t before, std::uint32_t after) {
        replace16(static_cast<std::uint16_t>(before >> 16), static_cast<std::uint16_t>(after >> 16));
        replace16(static_cast<std::uint16_t>(before), static_cast<std::uint16_t>(after));
    }
    std::uint16_t checksum() const {
        std::uint64_t sum = sum_;
        while (sum >> 16 != 0)
            sum = (sum & 0xFFFF) + (sum >> 16);
        return static_cast<std::uint16_t>(~sum);
    }

  private:
    std::uint64_t sum_;
};

const NewDestination* mapped(const wire::UdpView& udp, const RewriteRules& rules) {
    const auto found = rules.map.find({udp.dst_ip, udp.dst_port});
    return found == rules.map.end() ? nullptr : &found->second;
}

}  // namespace

Rewritten rewrite(std::span<std::uint8_t> frame, const RewriteRules& rules) noexcept {
    Rewritten result;
    wire::UdpView udp{};
    const bool datagram =
        wire::parse_udp(frame.data(), frame.size(), frame.size(), false, udp) == PortOutcome::stream &&
        !udp.ipv6;
    if (rules.readdresses()) {
        if (!datagram)
            return {false, 0};
        std::uint8_t* const ip = &frame[wire::kEthernetHeader + udp.vlan_tags * wire::kVlanTag];
        std::uint8_t* const head = &frame[udp.payload_offset - wire::kUdpHeader];
        Sum ip_sum(load_be16(ip + 10));
        Sum udp_sum(load_be16(head + 6));
        if (rules.ttl) {
            const std::uint16_t before = load_be16(ip + 8);
            ip[8] = *rules.ttl;
            ip_sum.replace16(before, load_be16(ip + 8));
        }
        result.mapped = mapped(udp, rules);
        const NewDestination* const other = rules.to ? &*rules.to : nullptr;
        if (const NewDestination* const to = result.mapped != nullptr ? result.mapped : other) {
            ip_sum.replace32(udp.dst_ip, to->address.value);
            udp_sum.replace32(udp.dst_ip, to->address.value);
            udp_sum.replace16(udp.dst_port, to->port);
            store_be32(ip + 16, to->address.value);
            store_be16(head + 2, to->port);
            std::copy(to->mac.begin(), to->mac.end(), frame.begin());
        }
        if (rules.source) {
            ip_sum.replace32(udp.src_ip, rules.source->value);
            udp_sum.replace32(udp.src_ip, rules.source->value);
            store_be32(ip + 12, rules.source->value);
        }
        store_be16(ip + 10, ip_sum.checksum());
        if (load_be16(head + 6) != 0) {
            const std::uint16_t sum = udp_sum.checksum();
            store_be16(head + 6, sum == 0 ? 0xFFFF : sum);
        }
    }
    if (rules.source_mac && frame.size() >= wire::kEthernetHeader)
        std::copy(rules.source_mac->begin(), rules.source_mac->end(), frame.begin() + 6);
    if (rules.strip_vlan)
        // For any frame, not only for datagrams.
        while (frame.size() - result.skip >= wire::kEthernetHeader + wire::kVlanTag) {
            std::uint8_t* const at = &frame[result.skip];
            const std::uint16_t type = load_be16(at + 12);
            if (type != wire::kEtherTypeVlan && type != wire::kEtherTypeQinQ)
                break;
            std::memmove(at + wire::kVlanTag, at, 12);
            result.skip += static_cast<std::uint32_t>(wire::kVlanTag);
        }
    return result;
}

}  // namespace spead::replay
