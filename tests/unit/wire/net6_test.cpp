// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/unit/wire/frames6.hpp"
#include "tests/unit/wire/read_back.hpp"
#include "wire/net.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::Frame6;

PortOutcome parse6(const Bytes& bytes, UdpView& view) {
    const ExactCopy frame(bytes);
    return parse_udp(frame.data(), frame.size(), frame.size(), true, view);
}

PortOutcome parse6(const Bytes& bytes) {
    UdpView view{};
    return parse6(bytes, view);
}

Bytes extension(std::uint8_t next, std::size_t units = 1) {
    Bytes bytes(8 * units);
    bytes[0] = next;
    bytes[1] = static_cast<std::uint8_t>(units - 1);
    return bytes;
}

TEST(Net6, AGoldenFrameGivesAddressesPortsAndPayload) {
    const Bytes frame = test::from_hex(
        "333300000001 020000000009 86dd 60012345 000b 11 04"
        "fd000000000000000000000000000007 ff150000000000000000000000000001"
        "c350 1bec 000b beef 616263");
    UdpView view{};
    ASSERT_EQ(parse6(frame, view), PortOutcome::stream);
    EXPECT_TRUE(view.ipv6);
    EXPECT_EQ(view.source(), parse_ip("fd00::7"));
    EXPECT_EQ(view.destination(), parse_ip("ff15::1"));
    EXPECT_EQ(view.src_port, 50000);
    EXPECT_EQ(view.dst_port, 7148);
    EXPECT_EQ(view.payload_offset, kNetHeader6);
    EXPECT_EQ(view.payload_length, 3U);
    EXPECT_EQ(view.src_ip, sender_key(view.source()));

    Bytes written(kNetHeader6);
    NetHeaderSpec spec;
    spec.dst_mac = multicast_mac6(view.dst_ip6);
    spec.src_mac = {2, 0, 0, 0, 0, 9};
    spec.src_ip = view.src_ip6;
    spec.dst_ip = view.dst_ip6;
    spec.src_port = 50000;
    spec.dst_port = 7148;
    spec.ttl = 4;
    write_headers(written.data(), spec, 3, 0xBEEF);
    Bytes wanted(frame.begin(), frame.begin() + kNetHeader6);
    wanted[15] = wanted[16] = wanted[17] = 0;  // the flow label
    EXPECT_EQ(written, wanted);
}

NetHeaderSpec spec6() {
    NetHeaderSpec spec;
    spec.src_mac = {2, 0, 0, 0, 0, 9};
    spec.dst_mac = multicast_mac_of(parse_ip("ff15::1"));
    spec.src_ip = parse_ip("fd00::7");
    spec.dst_ip = parse_ip("ff15::1");
    spec.src_port = 50000;
    spec.dst_port = 7148;
    spec.ttl = 4;
    spec.dscp = 46;
    return spec;
}

TEST(Net6, WrittenHeadersHaveTheBytesOfTheRfcs) {
    NetHeaderSpec spec = spec6();
    Bytes out(NetHeaderTemplate::kMaxLength, 0xCC);
    ASSERT_EQ(write_headers(out.data(), spec, 100, 0x1234), 62U);
    EXPECT_EQ(out, test::from_hex("333300000001 020000000009 86dd 6b800000 006c 11 04"
                                  "fd000000000000000000000000000007 ff150000000000000000000000000001"
                                  "c350 1bec 006c 1234 cccccccc"));
    spec.vlan = 0x6123;
    ASSERT_EQ(write_headers(out.data(), spec, 100, 0x1234), 66U);
    EXPECT_EQ(out, test::from_hex("333300000001 020000000009 8100 6123 86dd 6b800000 006c 11 04"
                                  "fd000000000000000000000000000007 ff150000000000000000000000000001"
                                  "c350 1bec 006c 1234"));
    NetHeaderTemplate headers(spec);
    EXPECT_EQ(headers.ip_offset(), 18U);
    headers.set_source({2, 0, 0, 0, 0, 8}, parse_ip("fd00::8"));
    headers.set_ttl_dscp(255, 0);
    headers.write(out.data(), 0, 0xFFFF);
    EXPECT_EQ(out, test::from_hex("333300000001 020000000008 8100 6123 86dd 60000000 0008 11 ff"
                                  "fd000000000000000000000000000008 ff150000000000000000000000000001"
                                  "c350 1bec 0008 ffff"));
}

TEST(Net6, WrittenHeadersOfEveryLengthAreReadBack) {
    test::expect_every_length_read_back(spec6());
}

/// Tests the example of RFC 4291, appendix A.
TEST(Net6, AMacAddressGivesALinkLocalAddress) {
    EXPECT_EQ(IpAddress(link_local_of({0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE})),
              parse_ip("fe80::3656:78ff:fe9a:bcde"));
}

TEST(Net6, EveryTruncationIsMalformedAndNothingBeyondIsRead) {
    Frame6 frame;
    frame.extensions = {{0, extension(17)}};
    const Bytes whole = frame.build();
    for (std::size_t length = 0; length < whole.size(); length++)
        EXPECT_EQ(parse6({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}),
                  PortOutcome::malformed)
            << length;
}

TEST(Net6, LengthsThatContradictEachOtherAreMalformed) {
    Bytes frame = Frame6{}.build();
    UdpView view{};
    frame.resize(frame.size() + 30);  // Ethernet padding
    ASSERT_EQ(parse6(frame, view), PortOutcome::stream);
    EXPECT_EQ(view.payload_length, Frame6{}.payload.size());
    Bytes wrong = frame;
    wrong[19] = 7;  // no room for UDP; a jumbogram has 0
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
    wrong[19] = 0;
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
    wrong = frame;
    wrong[18] = 1;
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
    wrong = frame;
    wrong[59] = 7;
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
    wrong[59] = static_cast<std::uint8_t>(frame[59] + 1);
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
    wrong = frame;
    wrong[14] = 0x45;
    EXPECT_EQ(parse6(wrong), PortOutcome::malformed);
}

TEST(Net6, FragmentsOfEveryKindAreCountedAsSuch) {
    for (const int offset : {0x0000, 0x0001, 0x0008, 0xFFF8}) {  // atomic, first, last, far
        Bytes header = extension(17);
        store_be16(&header[2], static_cast<std::uint16_t>(offset));
        Frame6 frame;
        frame.extensions = {{44, header}};
        EXPECT_EQ(parse6(frame.build()), PortOutcome::fragment);
        frame.extensions = {{0, extension(44)}, {44, header}};
        EXPECT_EQ(parse6(frame.build()), PortOutcome::fragment);
    }
}

TEST(Net6, OptionsArePassedOverAndOtherHeadersAreNoUdp) {
    UdpView view{};
    Frame6 frame;
    frame.extensions = {{0, extension(60)}, {60, extension(17, 3)}};
    ASSERT_EQ(parse6(frame.build(), view), PortOutcome::stream);
    EXPECT_EQ(view.payload_offset, kNetHeader6 + 32);
    frame.extensions = {{0, extension(17, 8)}};
    ASSERT_EQ(parse6(frame.build(), view), PortOutcome::stream);
    frame.tags = {kEtherTypeQinQ, kEtherTypeVlan};
    ASSERT_EQ(parse6(frame.build(), view), PortOutcome::stream);
    EXPECT_EQ(view.payload_offset, kMaxNetHeader);
    EXPECT_EQ(view.vlan_tags, 2);

    frame = {};
    frame.extensions = {{0, extension(17, 9)}};  // above kMaxIpv6Options
    EXPECT_EQ(parse6(frame.build()), PortOutcome::not_udp);
    frame.extensions = {{60, extension(0)}, {0, extension(17)}};  // hop-by-hop must be first
    EXPECT_EQ(parse6(frame.build()), PortOutcome::malformed);
    for (const int next : {43, 50, 51, 58, 59, 6, 135}) {
        frame.extensions = {{static_cast<std::uint8_t>(next), extension(17)}};
        EXPECT_EQ(parse6(frame.build()), PortOutcome::not_udp) << next;
    }
    Bytes beyond = extension(17);
    beyond[1] = 4;  // longer than the packet
    frame.extensions = {{0, beyond}};
    frame.payload.clear();
    EXPECT_EQ(parse6(frame.build()), PortOutcome::malformed);
}

TEST(Net6, MessagesOfMembersAndNeighboursAreToldApart) {
    for (int type = 0; type < 256; type++) {
        const bool mld = (type >= 130 && type <= 132) || type == 143;
        const PortOutcome expected = mld                          ? PortOutcome::mld
                                     : type >= 133 && type <= 137 ? PortOutcome::ndp
                                                                  : PortOutcome::not_udp;
        Bytes frame = Frame6{}.build();
        frame[20] = kProtocolIcmp6;
        frame[kEthernetHeader + kIpv6Header] = static_cast<std::uint8_t>(type);
        EXPECT_EQ(parse6(frame), expected) << type;
        Frame6 with_options;
        with_options.extensions = {{0, extension(kProtocolIcmp6)}};
        frame = with_options.build();
        frame[kEthernetHeader + kIpv6Header + 8] = static_cast<std::uint8_t>(type);
        EXPECT_EQ(parse6(frame), expected) << type << " after hop-by-hop options";
    }
    Bytes empty = Frame6{}.build();
    empty[20] = kProtocolIcmp6;
    store_be16(&empty[18], 0);
    EXPECT_EQ(parse6(empty), PortOutcome::malformed) << "without a type";
}

TEST(Net6, ADatagramWithoutChecksumIsRefused) {
    Bytes frame = Frame6{}.build();
    store_be16(&frame[60], 0);
    EXPECT_EQ(parse6(frame), PortOutcome::bad_checksum);
}

TEST(Net6, ASourceThatNoHostHasIsMalformed) {
    Frame6 frame;
    for (const char* from : {"fd00::7", "fe80::1", "::1", "::a00:7", "64:ff9b::a00:7", "::1:ffff:a00:7"}) {
        frame.from = parse_ip(from).v6();
        EXPECT_EQ(parse6(frame.build()), PortOutcome::stream) << from;
    }
    for (const IpAddress& from :
         {parse_ip("ff15::1"), parse_ip("::"), IpAddress(Ipv4{0x0A000007}), IpAddress()}) {
        frame.from = from.v6();
        EXPECT_EQ(parse6(frame.build()), PortOutcome::malformed) << to_string(from);
        frame.extensions = {{0, extension(17)}};
        EXPECT_EQ(parse6(frame.build()), PortOutcome::malformed) << to_string(from);
        frame.extensions = {{44, extension(17)}};
        EXPECT_EQ(parse6(frame.build()), PortOutcome::fragment)
            << "it is one of both, in the same counter always";
        frame.extensions.clear();
    }
}

TEST(Net6, GroupsHaveTheMacAddressesOfRfc2464) {
    EXPECT_EQ(multicast_mac6(parse_ip("ff15::1:ff81:c203").v6()),
              (MacAddress{0x33, 0x33, 0xFF, 0x81, 0xC2, 0x03}));
}

}  // namespace
}  // namespace spead::wire
