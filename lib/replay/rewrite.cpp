// SPDX-License-Identifier: BSD-3-Clause
#include "replay/rewrite.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_order.hpp"
#include "base/ipv6_bytes.hpp"
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
    void replace(const std::uint8_t* before, const std::uint8_t* after, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; i += 2)
            replace16(load_be16(before + i), load_be16(after + i));
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

/// Changes the headers of one datagram, and its checksums along.
class Headers {
  public:
    Headers(std::span<std::uint8_t> frame, const wire::UdpView& udp)
        : ip_(&frame[wire::kEthernetHeader + udp.vlan_tags * wire::kVlanTag]),
          udp_(&frame[udp.payload_offset - wire::kUdpHeader]),
          six_(udp.ipv6),
          ip_sum_(six_ ? 0 : load_be16(ip_ + 10)),
          udp_sum_(load_be16(udp_ + 6)) {}

    void set_ttl(std::uint8_t ttl) {
        if (six_) {
            ip_[7] = ttl;
            return;
        }
        const std::uint16_t before = load_be16(ip_ + 8);
        ip_[8] = ttl;
        ip_sum_.replace16(before, load_be16(ip_ + 8));
    }
    /// Takes an address of the datagram's version.
    void set_source(const IpAddress& address) { set(ip_ + (six_ ? 8 : 12), address); }
    void set_destination(const IpAddress& address, std::uint16_t port) {
        set(ip_ + (six_ ? 24 : 16), address);
        udp_sum_.replace16(load_be16(udp_ + 2), port);
        store_be16(udp_ + 2, port);
    }
    void finish() {
        if (!six_)
            store_be16(ip_ + 10, ip_sum_.checksum());
        if (load_be16(udp_ + 6) != 0) {
            const std::uint16_t sum = udp_sum_.checksum();
            store_be16(udp_ + 6, sum == 0 ? 0xFFFF : sum);
        }
    }

  private:
    void set(std::uint8_t* at, const IpAddress& address) {
        std::array<std::uint8_t, 16> bytes{};
        const std::size_t length = six_ ? 16 : 4;
        if (six_)
            store_ipv6(bytes.data(), address.v6());
        else
            store_be32(bytes.data(), address.v4().value);
        ip_sum_.replace(at, bytes.data(), length);
        udp_sum_.replace(at, bytes.data(), length);
        std::copy_n(bytes.begin(), length, at);
    }

    std::uint8_t* ip_;
    std::uint8_t* udp_;
    bool six_;
    Sum ip_sum_;
    Sum udp_sum_;
};

/// Changes a datagram as the rules say. Returns false if they cannot.
bool readdress(std::span<std::uint8_t> frame, const wire::UdpView& udp, const RewriteRules& rules,
               Rewritten& result) {
    const auto found = rules.map.find({udp.destination(), udp.dst_port});
    result.mapped = found == rules.map.end() ? nullptr : &found->second;
    const NewDestination* const other = rules.to ? &*rules.to : nullptr;
    const NewDestination* const to = result.mapped != nullptr ? result.mapped : other;
    if (to != nullptr && to->address.is_v6() != udp.ipv6)
        return false;
    Headers headers(frame, udp);
    if (rules.ttl)
        headers.set_ttl(*rules.ttl);
    if (to != nullptr) {
        headers.set_destination(to->address, to->port);
        std::copy(to->mac.begin(), to->mac.end(), frame.begin());
    }
    if (udp.ipv6 && rules.source6)
        headers.set_source(*rules.source6);
    else if (!udp.ipv6 && rules.source)
        headers.set_source(*rules.source);
    headers.finish();
    return true;
}

}  // namespace

Rewritten rewrite(std::span<std::uint8_t> frame, const RewriteRules& rules) noexcept {
    Rewritten result;
    if (rules.readdresses()) {
        wire::UdpView udp{};
        result.good =
            wire::parse_udp(frame.data(), frame.size(), frame.size(), false, udp) == PortOutcome::stream &&
            readdress(frame, udp, rules, result);
        if (!result.good)
            return result;
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
