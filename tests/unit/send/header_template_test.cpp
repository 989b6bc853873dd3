// SPDX-License-Identifier: BSD-3-Clause
#include "send/header_template.hpp"

#include <array>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "send/outgoing_heap.hpp"
#include "tests/unit/send/support.hpp"

namespace spead::send {
namespace {

using test::Bytes;

wire::NetHeaderSpec spec(bool vlan) {
    wire::NetHeaderSpec s;
    s.src_mac = {2, 0, 0, 0, 0, 1};
    s.dst_mac = wire::multicast_mac(Ipv4{0xEF0A0A03});
    s.src_ip = 0x0A000001;
    s.dst_ip = 0xEF0A0A03;
    s.src_port = 50000;
    s.dst_port = 7148;
    s.ttl = 4;
    if (vlan)
        s.vlan = std::uint16_t{0x2064};
    return s;
}

TEST(DestinationHeader, WritesHeadersOfRightLengthsAndChecksum) {
    for (const bool vlan : {false, true}) {
        const DestinationHeader header(spec(vlan), UdpChecksum::none);
        ASSERT_EQ(header.length(), vlan ? 46U : 42U);
        for (const std::size_t payload : {std::size_t{49}, std::size_t{1472}, std::size_t{8972}}) {
            Bytes out(64, 0xEE);
            header.write(out.data(), payload);
            EXPECT_EQ(out[header.length()], 0xEE) << "must not write past its length";
            const auto* const ip = reinterpret_cast<const rte_ipv4_hdr*>(out.data() + header.length() - 28);
            const auto* const udp = reinterpret_cast<const rte_udp_hdr*>(ip + 1);
            EXPECT_EQ(rte_be_to_cpu_16(ip->total_length), payload + 28);
            EXPECT_EQ(rte_be_to_cpu_16(udp->dgram_len), payload + 8);
            EXPECT_EQ(udp->dgram_cksum, 0);
            rte_ipv4_hdr copy = *ip;
            copy.hdr_checksum = 0;
            EXPECT_EQ(ip->hdr_checksum, rte_ipv4_cksum(&copy));
        }
    }
}

TEST(DestinationHeader, GivesAPortThatMakesChecksumsThePseudoHeadersSum) {
    const DestinationHeader header(spec(false), UdpChecksum::port);
    for (const std::size_t payload : {std::size_t{49}, std::size_t{1472}, std::size_t{65000}}) {
        Bytes out(64);
        header.write(out.data(), payload);
        const auto* const ip = reinterpret_cast<const rte_ipv4_hdr*>(out.data() + 14);
        const auto* const udp = reinterpret_cast<const rte_udp_hdr*>(ip + 1);
        EXPECT_EQ(udp->dgram_cksum, rte_ipv4_phdr_cksum(ip, 0)) << payload;
    }
}

TEST(DestinationHeader, PutsAChecksumOverPiecesOfAnyLengthIntoTheHeaders) {
    const DestinationHeader header(spec(true), UdpChecksum::software);
    Bytes out(46 + 500);
    for (std::size_t i = 46; i < out.size(); ++i)
        out[i] = static_cast<std::uint8_t>(i * 7);
    header.write(out.data(), 500);
    const std::uint8_t* const at = out.data() + 46;
    const std::array<std::span<const std::uint8_t>, 3> pieces{std::span(at, 41), std::span(at + 41, 200),
                                                              std::span(at + 241, 259)};
    header.patch_checksum(out.data(), pieces);
    const auto* const ip = reinterpret_cast<const rte_ipv4_hdr*>(out.data() + 18);
    EXPECT_EQ(rte_ipv4_udptcp_cksum_verify(ip, ip + 1), 0);
    EXPECT_NE(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, 0);
}

wire::NetHeaderSpec spec6(bool vlan) {
    wire::NetHeaderSpec s = spec(vlan);
    s.src_ip = parse_ip("fd00:1:2:3:4:5:6:7");
    s.dst_ip = parse_ip("ff15::89ab:cdef");
    s.dst_mac = wire::multicast_mac_of(s.dst_ip);
    return s;
}

TEST(DestinationHeader, SumsUpIpv6AsDpdkDoes) {
    for (const std::size_t payload : {std::size_t{49}, std::size_t{1472}, std::size_t{65000}}) {
        Bytes out(64);
        DestinationHeader(spec6(false), UdpChecksum::port).write(out.data(), payload);
        const auto* const ip = reinterpret_cast<const rte_ipv6_hdr*>(out.data() + 14);
        EXPECT_EQ(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, rte_ipv6_phdr_cksum(ip, 0))
            << payload;
    }
    const DestinationHeader header(spec6(true), UdpChecksum::software);
    ASSERT_EQ(header.length(), 66U);
    for (const std::size_t split : {0, 1, 41, 250, 499, 500}) {
        Bytes out(66 + 500);
        for (std::size_t i = 66; i < out.size(); ++i)
            out[i] = static_cast<std::uint8_t>(i * 7);
        header.write(out.data(), 500);
        const std::uint8_t* const at = out.data() + 66;
        const std::array<std::span<const std::uint8_t>, 2> pieces{std::span(at, split),
                                                                  std::span(at + split, 500 - split)};
        header.patch_checksum(out.data(), pieces);
        const auto* const ip = reinterpret_cast<const rte_ipv6_hdr*>(out.data() + 18);
        EXPECT_EQ(rte_ipv6_udptcp_cksum_verify(ip, ip + 1), 0) << split;
    }
}

/// Checks that the destination's stamp writes the same bytes as its headers and the packetiser, one after the
/// other.
void expect_same(StampedDestination& destination, const Packetiser& p, const Packetiser::Packet& packet) {
    const HeapLayout& layout = p.layout();
    ASSERT_TRUE(PacketStamp::fits(destination, packet.pointers));
    const PacketStamp& stamp =
        destination.stamp(StampedDestination::run, layout.flavour, packet.payload_length, packet.pointers);
    Bytes stamped(PacketStamp::kCapacity), made(destination.length() + packet.header_length);
    destination.write(made.data(), packet.header_length + packet.payload_length);
    p.write_header(packet, made.data() + destination.length());
    std::uint8_t* const at = stamp.write(stamped.data(), p.cnt(), layout.payload_length, packet.offset);
    Packetiser::write_pointers(layout, packet.first_pointer, packet.pointers, at);
    stamped.resize(stamp.length());
    ASSERT_EQ(stamped, made) << "offset " << packet.offset;
    // Without a stamp, with a new one, and with one that is there; and for another kind in between.
    for (int i = 0; i < 5; i++) {
        Bytes written(PacketStamp::kCapacity);
        std::uint8_t* const spead = destination.write_packet(
            StampedDestination::other, written.data(), layout.flavour, packet.payload_length, packet.pointers,
            p.cnt(), layout.payload_length, packet.offset);
        Packetiser::write_pointers(layout, packet.first_pointer, packet.pointers, spead);
        written.resize(stamp.length());
        ASSERT_EQ(written, made) << "offset " << packet.offset << ", time " << i;
        if (i == 3)
            destination.write_packet(StampedDestination::other, Bytes(PacketStamp::kCapacity).data(),
                                     layout.flavour, packet.payload_length + 1, packet.pointers, 1, 2, 3);
    }
}

TEST(PacketStamp, WritesTheSameBytesAsThePacketMadeInFull) {
    std::vector<std::byte> memory(100'000);
    for (const wire::NetHeaderSpec& net : {spec(false), spec(true), spec6(false), spec6(true)}) {
        for (const bool repeat : {false, true}) {
            OutgoingHeap heap(wire::Flavour(48));
            heap.add_item(0x1600, memory);
            heap.add_immediate(0x1601, 12345);
            heap.set_repeat_pointers(repeat);
            const HeapLayout& layout = heap.layout(1472, nullptr);
            const DestinationHeader header(net, UdpChecksum::none);
            Packetiser p;
            p.start(layout, 77);
            StampedDestination destination(header);
            int compared = 0;
            while (!p.done()) {
                const auto packet = p.next();
                expect_same(destination, p, packet);
                ++compared;
                p.advance(packet);
            }
            EXPECT_GT(compared, 60);
        }
    }
}

/// Tests that heaps of any flavour, length and number of items can use a stamp one after the other.
TEST(PacketStamp, IsMadeAnewForAnotherKindOfPacketsOnly) {
    std::mt19937 random(5);
    std::vector<std::byte> memory(3'000);
    StampedDestination destination(DestinationHeader(spec(false), UdpChecksum::port));
    for (int i = 0; i < 500; ++i) {
        const wire::Flavour flavour(random() % 2 == 0 ? 48 : 40);
        OutgoingHeap heap(flavour);
        heap.add_item(0x1600, std::span(memory).first(1 + random() % 2 * 2'000));
        for (std::uint64_t item = random() % 4; item != 0; --item)
            heap.add_immediate(0x1600 + item, random());
        Packetiser p;
        p.start(heap.layout(1472, nullptr), random());
        for (; !p.done(); p.advance(p.next()))
            expect_same(destination, p, p.next());
    }
}

/// Tests that packets after a change of the headers have the new ones.
TEST(PacketStamp, FollowsChangesOfTheHeaders) {
    std::vector<std::byte> memory(1'000);
    OutgoingHeap heap;
    heap.add_item(0x1600, memory);
    Packetiser p;
    p.start(heap.layout(1472, nullptr), 3);
    StampedDestination destination(DestinationHeader(spec(true), UdpChecksum::none));
    expect_same(destination, p, p.next());
    destination.set_dst_mac({2, 9, 9, 9, 9, 9});
    expect_same(destination, p, p.next());
    destination.set_source({2, 8, 8, 8, 8, 8}, Ipv4{0x0A090909});
    expect_same(destination, p, p.next());
    destination.set_ttl_dscp(9, 46);
    expect_same(destination, p, p.next());
}

TEST(PacketStamp, DoesNotTakeHeadersLongerThanItself) {
    OutgoingHeap heap;
    for (std::uint64_t i = 0; i < 14; ++i)
        heap.add_immediate(0x1000 + i, i);
    heap.set_repeat_pointers(true);
    const HeapLayout& layout = heap.layout(1472, nullptr);  // 15 pointers, padding included
    EXPECT_FALSE(PacketStamp::fits(DestinationHeader(spec(false), UdpChecksum::none),
                                   static_cast<std::uint32_t>(layout.pointers.size())));
}

}  // namespace
}  // namespace spead::send
