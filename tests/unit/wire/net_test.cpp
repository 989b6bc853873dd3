// SPDX-License-Identifier: BSD-3-Clause
#include "wire/net.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tests/unit/wire/frames.hpp"
#include "tests/unit/wire/read_back.hpp"

namespace spead::wire {
namespace {

using test::Bytes;
using test::ExactCopy;
using test::Frame;

/// Parses the frame both ways (the inlined function and the general one must agree) from memory of exactly
/// its size.
PortOutcome parse(const Bytes& bytes, UdpView& view, bool verify = true) {
    const ExactCopy frame(bytes);
    UdpView general{};
    const PortOutcome outcome = parse_udp(frame.data(), frame.size(), frame.size(), verify, view);
    EXPECT_EQ(parse_udp_general(frame.data(), frame.size(), frame.size(), verify, general), outcome);
    if (outcome == PortOutcome::stream) {
        EXPECT_EQ(view, general);
    }
    UdpView usual{};
    const ExactCopy head(bytes, std::min(bytes.size(), kNetHeader));
    if (parse_udp_fast_path(head.data(), frame.size(), verify, usual)) {
        EXPECT_EQ(outcome, PortOutcome::stream);
        EXPECT_EQ(usual, general);
    }
    return outcome;
}

PortOutcome parse(const Bytes& bytes, bool verify = true) {
    UdpView view{};
    return parse(bytes, view, verify);
}

/// Returns every combination of tags and option words that parse_udp accepts.
std::vector<Frame> accepted_frames() {
    std::vector<Frame> frames;
    for (const std::vector<std::uint16_t>& tags : {std::vector<std::uint16_t>{},
                                                   {kEtherTypeVlan},
                                                   {kEtherTypeQinQ},
                                                   {kEtherTypeQinQ, kEtherTypeVlan},
                                                   {kEtherTypeVlan, kEtherTypeVlan}})
        for (std::size_t ihl = 5; ihl <= 15; ++ihl) {
            Frame frame;
            frame.tags = tags;
            frame.ihl = ihl;
            frames.push_back(frame);
        }
    return frames;
}

TEST(Net, APlainFrameGivesAddressesPortsAndPayload) {
    UdpView view{};
    ASSERT_EQ(parse(Frame{}.build(), view), PortOutcome::stream);
    EXPECT_EQ(view.src_ip, 0x0A000007U);
    EXPECT_EQ(view.dst_ip, 0xEF010203U);
    EXPECT_EQ(view.src_port, 50000);
    EXPECT_EQ(view.dst_port, 7148);
    EXPECT_EQ(view.payload_offset, 42U);
    EXPECT_EQ(view.payload_length, 7U);
    EXPECT_EQ(view.vlan_tags, 0);
}

TEST(Net, TheUsualFrameIsRecognisedAtOnceAndNoOther) {
    for (const Frame& frame : accepted_frames()) {
        const Bytes bytes = frame.build();
        UdpView view{};
        EXPECT_EQ(parse_udp_fast_path(bytes.data(), bytes.size(), true, view),
                  frame.tags.empty() && frame.ihl == 5);
    }
}

TEST(Net, TagsAndOptionsAreSteppedOver) {
    for (const Frame& frame : accepted_frames()) {
        UdpView view{};
        ASSERT_EQ(parse(frame.build(), view), PortOutcome::stream);
        EXPECT_EQ(view.vlan_tags, frame.tags.size());
        EXPECT_EQ(view.payload_offset, frame.udp_at() + 8);
        EXPECT_EQ(view.payload_length, 7U);
        EXPECT_EQ(view.dst_ip, 0xEF010203U);
        EXPECT_EQ(view.dst_port, 7148);
    }
}

TEST(Net, AThirdTagIsNotUdp) {
    Frame frame;
    frame.tags = {kEtherTypeQinQ, kEtherTypeVlan, kEtherTypeVlan};
    EXPECT_EQ(parse(frame.build()), PortOutcome::not_udp);
}

TEST(Net, AFrameCutAnywhereIsMalformed) {
    for (const Frame& frame : accepted_frames()) {
        const Bytes bytes = frame.build();
        for (std::size_t length = 0; length < bytes.size(); ++length)
            ASSERT_EQ(parse(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length))),
                      PortOutcome::malformed)
                << length << " of " << bytes.size();
    }
}

TEST(Net, OnlyTheLongestHeaderNeedsToBeContiguous) {
    Frame frame;
    frame.tags = {kEtherTypeQinQ, kEtherTypeVlan};
    frame.ihl = 15;
    frame.payload = Bytes(3000, 7);
    const Bytes bytes = frame.build();
    const ExactCopy head(bytes, kMaxNetHeader);
    UdpView view{};
    ASSERT_EQ(parse_udp(head.data(), head.size(), bytes.size(), true, view), PortOutcome::stream);
    EXPECT_EQ(view.payload_offset, kEthernetHeader + 2 * kVlanTag + kMaxIpv4Header + kUdpHeader);
    EXPECT_EQ(view.payload_length, 3000U);
}

TEST(Net, AHeadShorterThanTheContractIsNeverReadBeyond) {
    for (const Frame& frame : accepted_frames()) {
        const Bytes bytes = frame.build();
        for (std::size_t length = 0; length < frame.udp_at() + kUdpHeader; ++length) {
            const ExactCopy head(bytes, length);
            UdpView view{};
            EXPECT_EQ(parse_udp(head.data(), length, bytes.size(), true, view), PortOutcome::malformed);
        }
    }
}

TEST(Net, EthernetPaddingIsAccepted) {
    for (Frame frame : accepted_frames()) {
        frame.payload = {1};
        frame.padding = 18;
        UdpView view{};
        ASSERT_EQ(parse(frame.build(), view), PortOutcome::stream);
        EXPECT_EQ(view.payload_length, 1U);
    }
}

TEST(Net, AnEmptyDatagramIsAccepted) {
    Frame frame;
    frame.payload.clear();
    UdpView view{};
    ASSERT_EQ(parse(frame.build(), view), PortOutcome::stream);
    EXPECT_EQ(view.payload_length, 0U);
}

TEST(Net, AUdpLengthShorterThanTheIpPayloadIsAccepted) {
    for (const Frame& frame : accepted_frames()) {
        Bytes bytes = frame.build();
        store_be16(&bytes[frame.udp_at() + 4], 8 + 3);
        UdpView view{};
        ASSERT_EQ(parse(bytes, view), PortOutcome::stream);
        EXPECT_EQ(view.payload_length, 3U);
    }
}

TEST(Net, AUdpLengthBeyondTheIpPayloadIsMalformedEvenIfTheFrameHasTheBytes) {
    for (Frame frame : accepted_frames()) {
        frame.padding = 10;
        Bytes bytes = frame.build();
        store_be16(&bytes[frame.udp_at() + 4], static_cast<std::uint16_t>(8 + frame.payload.size() + 1));
        EXPECT_EQ(parse(bytes), PortOutcome::malformed);
    }
}

TEST(Net, AUdpLengthBelowItsHeaderIsMalformed) {
    for (const Frame& frame : accepted_frames())
        for (std::uint16_t length = 0; length < 8; ++length) {
            Bytes bytes = frame.build();
            store_be16(&bytes[frame.udp_at() + 4], length);
            EXPECT_EQ(parse(bytes), PortOutcome::malformed) << length;
        }
}

TEST(Net, AnIpLengthBeyondTheFrameIsMalformed) {
    for (const Frame& frame : accepted_frames()) {
        Bytes bytes = frame.build();
        for (const std::size_t length : {bytes.size() - frame.ip_at() + 1, std::size_t{65535}}) {
            store_be16(&bytes[frame.ip_at() + 2], static_cast<std::uint16_t>(length));
            frame.sum(bytes);
            EXPECT_EQ(parse(bytes), PortOutcome::malformed);
        }
    }
}

TEST(Net, AnIpLengthWithoutRoomForTheUdpHeaderIsMalformed) {
    for (const Frame& frame : accepted_frames())
        for (std::size_t length = 0; length < frame.ihl * 4 + 8; ++length) {
            Bytes bytes = frame.build();
            store_be16(&bytes[frame.ip_at() + 2], static_cast<std::uint16_t>(length));
            frame.sum(bytes);
            EXPECT_EQ(parse(bytes), PortOutcome::malformed) << length;
        }
}

TEST(Net, AnIpHeaderOfLessThanFiveWordsIsMalformed) {
    for (std::uint8_t ihl = 0; ihl < 5; ++ihl) {
        Bytes bytes = Frame{}.build();
        bytes[14] = static_cast<std::uint8_t>(0x40 | ihl);
        EXPECT_EQ(parse(bytes, false), PortOutcome::malformed);
    }
}

TEST(Net, AnotherIpVersionUnderTheIpv4EthertypeIsMalformed) {
    for (int version = 0; version < 16; ++version) {
        if (version == 4)
            continue;
        Bytes bytes = Frame{}.build();
        bytes[14] = static_cast<std::uint8_t>(version << 4 | 5);
        EXPECT_EQ(parse(bytes, false), PortOutcome::malformed);
    }
}

TEST(Net, EveryFragmentIsRefused) {
    for (unsigned bit = 0; bit < 14; ++bit) {  // 13: more fragments, 0..12: offset
        Frame frame;
        frame.fragment = static_cast<std::uint16_t>(1U << bit);
        EXPECT_EQ(parse(frame.build()), PortOutcome::fragment) << bit;
        frame.tags = {kEtherTypeVlan};
        EXPECT_EQ(parse(frame.build()), PortOutcome::fragment) << bit;
    }
    Frame other;
    other.fragment = 0x2000;
    other.protocol = 6;
    EXPECT_EQ(parse(other.build()), PortOutcome::fragment);
}

TEST(Net, DontFragmentAndTheReservedBitAreNoFragments) {
    for (const std::uint16_t flags : std::initializer_list<std::uint16_t>{0x0000, 0x4000, 0x8000, 0xC000}) {
        Frame frame;
        frame.fragment = flags;
        EXPECT_EQ(parse(frame.build()), PortOutcome::stream);
    }
}

TEST(Net, OtherProtocolsAreNotUdpAndIgmpIsNamed) {
    for (unsigned protocol = 0; protocol < 256; ++protocol) {
        Frame frame;
        frame.protocol = static_cast<std::uint8_t>(protocol);
        const PortOutcome expected = protocol == 17  ? PortOutcome::stream
                                     : protocol == 2 ? PortOutcome::igmp
                                                     : PortOutcome::not_udp;
        EXPECT_EQ(parse(frame.build()), expected) << protocol;
    }
}

TEST(Net, AnIgmpReportWithTheRouterAlertOptionIsIgmp) {
    Frame frame;
    frame.ihl = 6;
    frame.protocol = kProtocolIgmp;
    frame.payload.clear();
    EXPECT_EQ(parse(frame.build()), PortOutcome::igmp);
}

TEST(Net, OtherEthertypesAreNotUdpAndArpIsNamed) {
    for (const std::uint16_t type :
         std::initializer_list<std::uint16_t>{0x0000, 0x0801, 0x88CC, 0x9100, 0xFFFF}) {
        Frame frame;
        frame.ether_type = type;
        EXPECT_EQ(parse(frame.build()), PortOutcome::not_udp) << type;
    }
    Frame frame;
    frame.ether_type = kEtherTypeArp;
    EXPECT_EQ(parse(frame.build()), PortOutcome::arp);
    frame.tags = {kEtherTypeVlan};
    EXPECT_EQ(parse(frame.build()), PortOutcome::arp);
}

TEST(Net, AWrongHeaderChecksumIsRefusedOnlyWhenAskedTo) {
    for (const Frame& frame : accepted_frames())
        for (std::size_t bit = 0; bit < 16; ++bit) {
            Bytes bytes = frame.build();
            bytes[frame.ip_at() + 10 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
            EXPECT_EQ(parse(bytes, true), PortOutcome::bad_checksum);
            EXPECT_EQ(parse(bytes, false), PortOutcome::stream);
        }
}

TEST(Net, ABrokenAddressIsFoundByTheChecksum) {
    Bytes bytes = Frame{}.build();
    bytes[30] ^= 0x01;
    EXPECT_EQ(parse(bytes, true), PortOutcome::bad_checksum);
}

TEST(Net, AnyUdpChecksumIsAccepted) {
    for (const std::uint16_t checksum : std::initializer_list<std::uint16_t>{0x0000, 0x0001, 0xFFFF}) {
        Bytes bytes = Frame{}.build();
        store_be16(&bytes[40], checksum);
        EXPECT_EQ(parse(bytes), PortOutcome::stream);
    }
}

TEST(Net, TheShortWayAgreesWithTheGeneralOneOnDamagedFrames) {
    std::mt19937 random(20240817);
    const std::vector<Frame> frames = accepted_frames();
    std::array<std::size_t, kPortOutcomes> seen{};
    for (int round = 0; round < 200000; ++round) {
        const Frame& frame = round % 2 != 0 ? frames[random() % frames.size()] : frames.front();
        Bytes bytes = frame.build();
        const std::size_t changes = random() % 3;
        for (std::size_t i = 0; i < changes; ++i)  // after the MAC addresses, before the payload
            bytes[12 + random() % (frame.udp_at() + 8 - 12)] = static_cast<std::uint8_t>(random());
        if (random() % 4 == 0)
            bytes.resize(random() % (bytes.size() + 20));
        else if (bytes.size() > frame.udp_at())
            frame.sum(bytes);
        UdpView view{};
        const PortOutcome outcome = parse(bytes, view, random() % 2 == 0);
        ++seen[static_cast<std::size_t>(outcome)];
        if (outcome == PortOutcome::stream) {
            ASSERT_LE(std::size_t{view.payload_offset} + view.payload_length, bytes.size());
        }
    }
    for (const PortOutcome outcome : {PortOutcome::stream, PortOutcome::malformed, PortOutcome::not_udp,
                                      PortOutcome::fragment, PortOutcome::bad_checksum})
        EXPECT_GT(seen[static_cast<std::size_t>(outcome)], 100U) << name_of(outcome);
}

TEST(Net, AMulticastMacHasTheLow23BitsOfTheGroup) {
    constexpr MacAddress mac = multicast_mac({0xEF81C203});  // 239.129.194.3
    EXPECT_EQ(mac, (MacAddress{0x01, 0x00, 0x5E, 0x01, 0xC2, 0x03}));
    EXPECT_EQ(multicast_mac({0xE0FFFFFF}), (MacAddress{0x01, 0x00, 0x5E, 0x7F, 0xFF, 0xFF}));
}

TEST(Net, TheIpv4ChecksumOfAKnownHeader) {
    Bytes header = test::from_hex("4500 0073 0000 4000 4011 0000 c0a8 0001 c0a8 00c7");
    EXPECT_EQ(ipv4_checksum(header.data(), header.size()), 0xB861);
    store_be16(&header[10], 0xB861);
    EXPECT_EQ(ipv4_checksum(header.data(), header.size()), 0);
}

/// Returns the checksum as RFC 768 defines it, word by word.
std::uint16_t plain_udp_checksum(const Bytes& payload) {
    const auto length = static_cast<std::uint16_t>(payload.size() + 8);
    Bytes all = test::from_hex("0a000007 ef010203 0011 0000 c350 1bec 0000 0000");
    store_be16(&all[10], length);
    store_be16(&all[16], length);
    all.insert(all.end(), payload.begin(), payload.end());
    if (all.size() % 2 != 0)
        all.push_back(0);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        sum += load_be16(&all[i]);
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    const auto result = static_cast<std::uint16_t>(~sum);
    return result == 0 ? std::uint16_t{0xFFFF} : result;
}

TEST(Net, TheUdpChecksumDoesNotDependOnHowThePayloadIsCut) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        Bytes payload(random() % 200);
        for (std::uint8_t& byte : payload)
            byte = static_cast<std::uint8_t>(random());
        std::vector<std::span<const std::uint8_t>> pieces;
        for (std::size_t at = 0; at < payload.size();) {
            const std::size_t length = std::min<std::size_t>(random() % 9, payload.size() - at);
            pieces.emplace_back(&payload[at], length);
            at += length;
        }
        const std::uint16_t expected = plain_udp_checksum(payload);
        EXPECT_EQ(udp_checksum(0x0A000007, 0xEF010203, 50000, 7148, pieces), expected);
        EXPECT_EQ(udp_checksum(0x0A000007, 0xEF010203, 50000, 7148, std::span<const std::uint8_t>(payload)),
                  expected);
    }
}

TEST(Net, TheUdpChecksumIsNeverZero) {
    Bytes payload(2);
    store_be16(payload.data(), plain_udp_checksum(payload));  // makes the sum 0xFFFF, so the checksum 0
    EXPECT_EQ(udp_checksum(0x0A000007, 0xEF010203, 50000, 7148, std::span<const std::uint8_t>(payload)),
              0xFFFF);
}

NetHeaderSpec sample_spec() {
    NetHeaderSpec spec;
    spec.src_mac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
    spec.dst_mac = multicast_mac({0xEF010203});
    spec.src_ip = 0x0A000007;
    spec.dst_ip = 0xEF010203;
    spec.src_port = 50000;
    spec.dst_port = 7148;
    spec.ttl = 4;
    spec.dscp = 46;
    return spec;
}

TEST(Net, WrittenHeadersHaveTheBytesOfTheRfcs) {
    Bytes out(kNetHeader + kVlanTag, 0xCC);
    ASSERT_EQ(write_headers(out.data(), sample_spec(), 100), 42U);
    EXPECT_EQ(out, test::from_hex("01005e010203 021122334455 0800"
                                  "45b8 0080 0000 4000 0411 7aaa 0a000007 ef010203"
                                  "c350 1bec 006c 0000 cccccccc"));
}

TEST(Net, AWrittenVlanTagStandsBeforeTheEthertype) {
    NetHeaderSpec spec = sample_spec();
    spec.vlan = 0x6123;
    Bytes out(kNetHeader + kVlanTag, 0xCC);
    ASSERT_EQ(write_headers(out.data(), spec, 100, 0x1234), 46U);
    EXPECT_EQ(out, test::from_hex("01005e010203 021122334455 8100 6123 0800"
                                  "45b8 0080 0000 4000 0411 7aaa 0a000007 ef010203"
                                  "c350 1bec 006c 1234"));
}

TEST(Net, WrittenHeadersOfEveryLengthAreReadBack) {
    test::expect_every_length_read_back(sample_spec());
}

}  // namespace
}  // namespace spead::wire
