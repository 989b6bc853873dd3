// SPDX-License-Identifier: BSD-3-Clause
// Packets of IPv6 that the sender puts on the wire.
#include <gmock/gmock.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Tests that IPv6 has a checksum whatever is asked for, in all packets that a sender makes.
TEST_F(SenderTest, MakesValidUdpChecksumsOfIpv6) {
    config.destinations = {{parse_endpoints("[ff15::a]:7148").front()}};
    config.source_ip = parse_ip("fd00::1");
    for (const ZeroCopy mode : {ZeroCopy::always, ZeroCopy::never}) {
        for (const std::uint32_t size : {56U, 200U, 1452U, 8952U, 65340U}) {
            SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", packets of " << size);
            config.zero_copy = mode;
            config.max_packet_size = size;
            std::vector<Bytes> datagrams;
            queue.look = [&](const rte_mbuf& m) {
                // In one piece: DPDK 22.11 sums up segments wrongly after one of odd length.
                const Bytes bytes = frame_of(m).bytes;
                const auto* const ip = reinterpret_cast<const rte_ipv6_hdr*>(bytes.data() + 14);
                EXPECT_EQ(rte_ipv6_udptcp_cksum_verify(ip, ip + 1), 0);
                EXPECT_NE(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, 0);
                EXPECT_EQ(hex({bytes.begin(), bytes.begin() + 14}), "33330000000a02000000000186dd");
                datagrams.emplace_back(bytes.begin() + 62, bytes.end());
            };
            OutgoingHeap& h = heap(size < 1000 ? 5001 : 200'001, 17);
            h.add_item(0x1601, memory.part(300'000, 77));
            h.add_item(0x1602, memory.part(310'000, 0));
            ASSERT_TRUE(sender().submit({&h}));
            ASSERT_TRUE(run());
            EXPECT_EQ(datagrams, expected(h, 1));
            finish();
            queue.taken = 0;
        }
    }
}

TEST_F(SenderTest, LeavesUdpChecksumsOfIpv6ToAPortThatMakesThem) {
    config.destinations = {{parse_endpoints("[ff15::a]:7148").front()}};
    config.source_ip = parse_ip("fd00::1");
    config.capabilities.tx_offloads = 1U << 2;  // RTE_ETH_TX_OFFLOAD_UDP_CKSUM
    std::size_t seen = 0;
    queue.look = [&](const rte_mbuf& m) {
        EXPECT_EQ(m.ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM),
                  RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM);
        EXPECT_EQ(m.l2_len, 14);
        EXPECT_EQ(m.l3_len, 40);
        const auto* const ip = rte_pktmbuf_mtod_offset(&m, const rte_ipv6_hdr*, 14);
        EXPECT_EQ(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, rte_ipv6_phdr_cksum(ip, 0));
        seen++;
    };
    OutgoingHeap& h = heap(10'000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(seen, expected(h, 1).size());
}

TEST_F(SenderTest, RefusesDestinationsOfBothIpVersions) {
    config.destinations.push_back({parse_endpoints("[ff15::a]:7148").front()});
    EXPECT_THAT(error_of([&] { sender(); }), AllOf(HasSubstr("[ff15::a]:7148"), HasSubstr("IP version")));
    config.destinations = {config.destinations.back()};
    config.max_packet_size = 65'352;
    EXPECT_THAT(error_of([&] { sender(); }), HasSubstr("at most 65340"));
}

}  // namespace
}  // namespace spead::send::test
