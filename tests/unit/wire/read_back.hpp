// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include "tests/unit/wire/frames.hpp"
#include "wire/net.hpp"

namespace spead::wire::test {

/// Writes the headers of datagrams of all lengths, without a tag and with one, and expects the parser to find
/// their values.
inline void expect_every_length_read_back(NetHeaderSpec spec) {
    const bool ipv6 = spec.dst_ip.is_v6();
    for (const bool tagged : {false, true}) {
        if (tagged)
            spec.vlan = 100;
        const NetHeaderTemplate headers(spec);
        EXPECT_EQ(headers.ip_offset(), tagged ? 18U : 14U);
        for (std::size_t length = 0; length <= kMaxUdpPayload; ++length) {
            Bytes out(headers.length());
            headers.write(out.data(), length, ipv6 ? 1 : 0);
            UdpView view{};
            ASSERT_EQ(parse_udp_general(out.data(), out.size(), out.size() + length, true, view),
                      PortOutcome::stream);
            ASSERT_EQ(view.payload_length, length);
            ASSERT_EQ(view.payload_offset, headers.length());
            ASSERT_EQ(view.vlan_tags, tagged ? 1 : 0);
            ASSERT_EQ(view.source(), spec.src_ip);
            ASSERT_EQ(view.destination(), spec.dst_ip);
            ASSERT_EQ(view.src_port, spec.src_port);
            ASSERT_EQ(view.dst_port, spec.dst_port);
        }
    }
}

}  // namespace spead::wire::test
