// SPDX-License-Identifier: BSD-3-Clause
#include "recv/frame_layout.hpp"

#include <gtest/gtest.h>

#include "recv/spead_decoder.hpp"
#include "tests/unit/recv/datagram.hpp"
#include "tests/unit/wire/frames6.hpp"

namespace spead::recv::test {
namespace {

using wire::test::Frame6;

Classifier endpoints_of_both() {
    Classifier c(1);
    c.add(parse_endpoints("[ff15::1]:7148").front(), {0, 0});
    c.add(parse_endpoints("[ff15::2]:7148@fd00::7").front(), {1, 2});
    c.add(parse_endpoints("[ff15::3]:7148@fd00::7").front(), {2, 0});
    c.add(parse_endpoints("[ff15::3]:7148").front(), {3, 1});
    c.add(parse_endpoints("239.1.2.3:7148").front(), {4, 0});
    return c;
}

Bytes frame6(const Bytes& datagram, std::uint64_t group = 1, std::uint64_t from = 7) {
    Frame6 f;
    f.to.low = group;
    f.from.low = from;
    f.payload = datagram;
    return f.build();
}

/// Learns as the lcore does. Returns whether it could.
bool learn6(FlowTemplate6& flow, const Bytes& frame, const Classifier& classifier) {
    wire::UdpView udp;
    wire::SpeadPacket p;
    if (wire::parse_udp(frame.data(), frame.size(), frame.size(), true, udp) != PortOutcome::stream)
        return false;
    const Target* const t = classifier.find(udp);
    const std::uint8_t* const datagram = frame.data() + udp.payload_offset;
    if (t == nullptr ||
        wire::parse_spead(datagram, udp.payload_length, udp.payload_length, p) != wire::SpeadError::none)
        return false;
    return flow.learn(frame.data(), udp, p, t->by_source, t->lane, t->endpoint, 9200);
}

std::optional<Judged> match6(const FlowTemplate6& flow, const Bytes& frame) {
    const wire::test::ExactCopy exact(frame);
    Judged j;
    if (!flow.match(exact.data(), exact.size(), true, j.view))
        return std::nullopt;
    j.lane = flow.lane();
    j.endpoint = flow.endpoint();
    j.payload_at = flow.payload_at();
    j.view.item_extent = flow.item_extent(exact.data());
    j.items.assign(j.view.items, j.view.items + std::size_t{j.view.item_count} * 8);
    return j;
}

TEST(ClassifierOfBothFamilies, TellsEndpointsAndSourcesApart) {
    const Classifier c = endpoints_of_both();
    EXPECT_EQ(c.size(), 5U);
    EXPECT_EQ(c.size6(), 4U);
    const auto lane = [&c](std::uint64_t group, std::uint64_t from, std::uint16_t port = 7148) {
        wire::UdpView udp{};
        udp.ipv6 = true;
        udp.dst_ip6 = {0xFF15000000000000, group};
        udp.src_ip6 = {0xFD00000000000000, from};
        udp.dst_port = port;
        const Target* const target = c.find(udp);
        return target == nullptr ? -1 : int{target->lane};
    };
    EXPECT_EQ(lane(1, 9), 0);
    EXPECT_EQ(lane(1, 9, 7149), -1);
    EXPECT_EQ(lane(2, 7), 1);
    EXPECT_EQ(lane(2, 8), -1);
    EXPECT_EQ(lane(3, 7), 2);
    EXPECT_EQ(lane(3, 8), 3);
    EXPECT_EQ(lane(4, 7), -1);
    wire::UdpView mapped{};
    mapped.ipv6 = true;
    mapped.dst_ip6 = parse_ip("239.1.2.3").v6();
    mapped.dst_port = 7148;
    EXPECT_EQ(c.find(mapped), nullptr) << "an IPv4 endpoint is no IPv6 packet's";
}

TEST(ClassifierOfBothFamilies, RefusesAnEndpointTwice) {
    Classifier c = endpoints_of_both();
    EXPECT_FALSE(c.add(parse_endpoints("[ff15::3]:7148").front(), {9, 9}));
    for (const Endpoint& e : parse_endpoints("[ff15::1000]+999:7148"))
        EXPECT_TRUE(c.add(e, {5, 0}));
    for (const Endpoint& e : parse_endpoints("[ff15::1000]+999:7148"))
        EXPECT_FALSE(c.add(e, {5, 0}));
}

TEST(FlowTemplate6, AgreesWithTheParsersOrSaysNothing) {
    Random random(7);
    const Classifier classifier = endpoints_of_both();
    std::size_t matched = 0;
    for (int round = 0; round < 3000; round++) {
        FlowTemplate6 flow;
        const wire::test::Packet packet = any_packet(random);
        const std::uint64_t group = 1 + random() % 3;
        const Bytes frame = frame6(packet.build(), group, 7 + random() % 2);
        if (!learn6(flow, frame, classifier))
            continue;
        for (int k = 0; k < 4; k++) {
            Bytes other = frame;
            for (std::uint32_t changes = random() % 3; changes > 0; changes--)
                other[random() % other.size()] = static_cast<std::uint8_t>(random());
            if (random() % 8 == 0)
                other.resize(random() % (other.size() + 1));
            const auto said = match6(flow, other);
            if (!said)
                continue;
            matched++;
            wire::UdpView udp{};
            ASSERT_EQ(wire::parse_udp(other.data(), other.size(), other.size(), true, udp),
                      PortOutcome::stream);
            const Target* const target = classifier.find(udp);
            ASSERT_NE(target, nullptr);
            EXPECT_EQ(target->lane, said->lane);
            EXPECT_EQ(target->endpoint, said->endpoint);
            auto judged =
                judge_datagram(other.data() + udp.payload_offset, udp.payload_length, udp.payload_length);
            ASSERT_TRUE(judged);
            judged->lane = said->lane;
            judged->endpoint = said->endpoint;
            judged->payload_at += udp.payload_offset;
            EXPECT_EQ(*judged, *said);
        }
    }
    EXPECT_GT(matched, 1000U);
}

TEST(FlowTemplate6, MatchesAnyClassLabelAndHopLimitAndNoMissingChecksum) {
    Random random(3);
    const Classifier classifier = endpoints_of_both();
    wire::test::Packet p;
    p.flavour = wire::Flavour(48);
    p.payload.assign(60, 1);
    p.specials(1, 60, 0);
    Bytes frame = frame6(p.build());
    FlowTemplate6 flow;
    ASSERT_TRUE(learn6(flow, frame, classifier));
    frame[14] = 0x6F;
    frame[15] = frame[16] = frame[17] = 0xA5;
    frame[21] = 200;
    EXPECT_TRUE(match6(flow, frame));
    store_be16(&frame[60], 0);
    EXPECT_FALSE(match6(flow, frame));
}

TEST(FlowTemplate6, DoesNotLearnIpv4OrExtensionHeaders) {
    Random random(3);
    const Classifier classifier = endpoints_of_both();
    wire::test::Packet p;
    p.flavour = wire::Flavour(48);
    p.payload.assign(60, 1);
    p.specials(1, 60, 0);
    FlowTemplate6 flow;
    EXPECT_FALSE(learn6(flow, frame(p.build()), classifier));
    Way options;
    options.ihl = 10;  // as many bytes of headers as IPv6 has
    EXPECT_FALSE(learn6(flow, frame(p.build(), options), classifier));
    Frame6 f;
    f.payload = p.build();
    f.extensions = {{0, {17, 0, 1, 4, 0, 0, 0, 0}}};
    EXPECT_FALSE(learn6(flow, f.build(), classifier));
}

}  // namespace
}  // namespace spead::recv::test
