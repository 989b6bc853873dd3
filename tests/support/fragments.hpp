// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_order.hpp"
#include "base/ipv6_bytes.hpp"
#include "wire/net.hpp"

/// Cuts frames into IP fragments, as a sender's kernel does.
namespace spead::test {

using FragmentBytes = std::vector<std::uint8_t>;

/// Returns the place of the IP header of a frame.
inline std::size_t ip_of(const FragmentBytes& frame) {
    std::size_t ip = wire::kEthernetHeader;
    while (load_be16(&frame[ip - 2]) == wire::kEtherTypeVlan ||
           load_be16(&frame[ip - 2]) == wire::kEtherTypeQinQ)
        ip += wire::kVlanTag;
    return ip;
}

inline bool is_ipv6(const FragmentBytes& frame) {
    return load_be16(&frame[ip_of(frame) - 2]) == wire::kEtherTypeIpv6;
}

/// Puts the right UDP checksum into a frame without padding, IP options and extension headers.
inline FragmentBytes with_udp_sum(FragmentBytes frame) {
    const std::size_t ip = ip_of(frame);
    const bool ipv6 = is_ipv6(frame);
    const std::size_t udp = ip + (ipv6 ? wire::kIpv6Header : wire::kIpv4Header);
    const IpAddress from =
        ipv6 ? IpAddress(load_ipv6(&frame[ip + 8])) : IpAddress(load_be32(&frame[ip + 12]));
    const IpAddress to = ipv6 ? IpAddress(load_ipv6(&frame[ip + 24])) : IpAddress(load_be32(&frame[ip + 16]));
    const std::span<const std::uint8_t> payload(frame.data() + udp + 8, frame.size() - udp - 8);
    store_be16(&frame[udp + 6],
               wire::udp_checksum(from, to, load_be16(&frame[udp]), load_be16(&frame[udp + 2]), payload));
    return frame;
}

/// Describes a fragment to make of a frame's IP payload.
struct Cut {
    std::size_t begin, end;
    bool more;
};

/// Returns these fragments of a frame without extension headers; `id` names the datagram. Bytes past the
/// payload are 0.
inline std::vector<FragmentBytes> cut(const FragmentBytes& frame, std::uint32_t id,
                                      const std::vector<Cut>& cuts) {
    const std::size_t ip = ip_of(frame);
    const bool ipv6 = is_ipv6(frame);
    const std::size_t header = ipv6 ? wire::kIpv6Header : (frame[ip] & 0x0FU) * 4;
    std::vector<FragmentBytes> all;
    for (const Cut& c : cuts) {
        FragmentBytes f(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(ip + header));
        const std::size_t length = c.end - c.begin;
        if (ipv6) {
            const std::uint8_t next = f[ip + 6];
            f[ip + 6] = 44;
            f.insert(f.end(), {next, 0, 0, 0, 0, 0, 0, 0});
            store_be16(&f[ip + 42], static_cast<std::uint16_t>(c.begin | (c.more ? 1 : 0)));
            store_be32(&f[ip + 44], id);
            store_be16(&f[ip + 4], static_cast<std::uint16_t>(8 + length));
        } else {
            store_be16(&f[ip + 2], static_cast<std::uint16_t>(header + length));
            store_be16(&f[ip + 4], static_cast<std::uint16_t>(id));
            store_be16(&f[ip + 6], static_cast<std::uint16_t>(c.begin / 8 | (c.more ? 0x2000 : 0)));
            store_be16(&f[ip + 10], 0);
            store_be16(&f[ip + 10], wire::ipv4_checksum(&f[ip], header));
        }
        for (std::size_t at = c.begin; at < c.end; at++)
            f.push_back(ip + header + at < frame.size() ? frame[ip + header + at] : std::uint8_t{0});
        all.push_back(std::move(f));
    }
    return all;
}

/// Returns the fragments of a frame, of `bytes` of payload each, a multiple of 8; the last one is shorter.
inline std::vector<FragmentBytes> fragments_of(const FragmentBytes& frame, std::uint32_t id,
                                               std::size_t bytes = 1480) {
    const std::size_t ip = ip_of(frame);
    const std::size_t header = is_ipv6(frame) ? wire::kIpv6Header : (frame[ip] & 0x0FU) * 4;
    const std::size_t length =
        is_ipv6(frame) ? load_be16(&frame[ip + 4]) : load_be16(&frame[ip + 2]) - header;
    std::vector<Cut> cuts;
    for (std::size_t at = 0; at < length; at += bytes)
        cuts.push_back({at, std::min(length, at + bytes), at + bytes < length});
    return cut(frame, id, cuts);
}

}  // namespace spead::test
