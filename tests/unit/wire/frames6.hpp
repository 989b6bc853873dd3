// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/unit/wire/frames.hpp"

/// Makes IPv6 frames to parse, field by field so that any of them can be wrong.
namespace spead::wire::test {

/// Describes an Ethernet frame with a UDP datagram over IPv6.
struct Frame6 {
    std::vector<std::uint16_t> tags{};  ///< TPIDs, outermost first
    /// Holds the extension headers, each with the number that names it in the header before.
    std::vector<std::pair<std::uint8_t, Bytes>> extensions{};
    Ipv6 from{0xFD00000000000000, 7};
    Ipv6 to{0xFF15000000000000, 1};
    std::uint16_t from_port = 50000;
    std::uint16_t to_port = 7148;
    Bytes payload = {'p', 'a', 'y', 'l', 'o', 'a', 'd'};

    Bytes build() const {
        NetHeaderSpec spec;
        spec.dst_mac = multicast_mac6(to);
        spec.src_ip = from;
        spec.dst_ip = to;
        spec.src_port = from_port;
        spec.dst_port = to_port;
        Bytes out(kNetHeader6);
        write_headers(out.data(), spec, payload.size(), 0xBEEF);
        out.insert(out.end(), payload.begin(), payload.end());
        Bytes headers;
        for (const auto& [number, header] : extensions)
            headers.insert(headers.end(), header.begin(), header.end());
        if (!extensions.empty()) {
            out[20] = extensions.front().first;
            store_be16(&out[18], static_cast<std::uint16_t>(load_be16(&out[18]) + headers.size()));
        }
        out.insert(out.begin() + kEthernetHeader + kIpv6Header, headers.begin(), headers.end());
        Bytes tag_bytes;
        for (const std::uint16_t tag : tags) {
            tag_bytes.push_back(static_cast<std::uint8_t>(tag >> 8));
            tag_bytes.push_back(static_cast<std::uint8_t>(tag));
            tag_bytes.push_back(0);
            tag_bytes.push_back(100);
        }
        out.insert(out.begin() + 12, tag_bytes.begin(), tag_bytes.end());
        return out;
    }
};

}  // namespace spead::wire::test
