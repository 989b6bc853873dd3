// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/frame_ring.hpp"
#include "port/lengths.hpp"
#include "tests/eal/recv/rig.hpp"
#include "wire/arp.hpp"
#include "wire/igmp.hpp"
#include "wire/mld.hpp"
#include "wire/ndp.hpp"

/// Tests the outcomes of packets: each packet is in exactly one counter, and each counter can be reached.
namespace spead::recv::test {
namespace {

/// Requires that a packet counts as this outcome at the port, and nowhere else.
void expect_port(PortOutcome outcome, const Bytes& f, std::uint64_t flags = 0) {
    OneStream rig;
    rte_mbuf* const m = rig.pool.make(f);
    m->ol_flags = flags;
    rig.queue().add(m);
    rig.poll_all();
    EXPECT_EQ(rig.count(outcome), 1U) << name_of(outcome);
    EXPECT_EQ(rig.others(outcome), 0U) << name_of(outcome);
    EXPECT_EQ(rig.picture().ports[0].rx_bytes, f.size());
}

Bytes usual_frame(const Way& way = {}) {
    return frame(MadeHeap{}.datagram(0, 400, true), way);
}

/// Returns an Ethernet frame of another type.
Bytes other_frame(std::uint16_t ether_type, std::size_t length = 60) {
    Bytes f = usual_frame();
    f.resize(length);
    store_be16(&f[12], ether_type);
    return f;
}

Bytes changed(Bytes f, std::size_t at, std::uint8_t value, bool sum_right = true) {
    f[at] = value;
    if (sum_right)
        sum(f);
    return f;
}

TEST(PortOutcomes, AreEachReachedByAPacketOfTheirKind) {
    const Bytes f = usual_frame();
    expect_port(PortOutcome::stream, f);
    expect_port(PortOutcome::arp, other_frame(wire::kEtherTypeArp));
    expect_port(PortOutcome::not_udp, other_frame(0x88CC));
    expect_port(PortOutcome::not_udp, changed(f, 23, 6));
    expect_port(PortOutcome::igmp, changed(f, 23, 2));
    expect_port(PortOutcome::fragment, changed(f, 20, 0x20));
    expect_port(PortOutcome::fragment, changed(f, 21, 1));
    expect_port(PortOutcome::bad_checksum, changed(f, 24, static_cast<std::uint8_t>(f[24] ^ 1), false));
    expect_port(PortOutcome::unmatched, usual_frame({.to = 0xEF010204}));
    expect_port(PortOutcome::unmatched, usual_frame({.port = 7149}));
    expect_port(PortOutcome::unmatched, usual_frame({.to = 0, .port = 0}));
    for (const std::size_t length : {0U, 1U, 13U, 14U, 33U, 41U})
        expect_port(PortOutcome::malformed,
                    Bytes(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(length)));
    expect_port(PortOutcome::malformed, changed(f, 14, 0x44));
    expect_port(PortOutcome::malformed, changed(f, 14, 0x65));
    expect_port(PortOutcome::malformed, changed(f, 16, 0xFF));
    expect_port(PortOutcome::malformed, changed(f, 38, 0xFF));
}

TEST(PortOutcomes, WhatHasNothingInItIsMalformed) {
    OneStream rig;
    for (rte_mbuf* const m : {rig.pool.make(usual_frame()), rig.pool.make_chain(usual_frame(), 20)}) {
        port::make_empty(*m);
        rig.queue().add(m);
    }
    rig.poll_all();
    EXPECT_EQ(rig.count(PortOutcome::malformed), 2U);
}

TEST(PortOutcomes, FramesLongerThanTheirOnlySegmentAreMalformed) {
    // A driver says more than it has, with headers that end where the segment does, or before.
    for (const bool check_udp : {false, true})
        for (const std::size_t left : {0U, 20U, 41U, 60U, 100U}) {
            SCOPED_TRACE(left);
            OneStream rig;
            rig.sources[0]->check_udp = check_udp;
            rte_mbuf* const m = rig.pool.make(usual_frame());
            m->data_len = static_cast<std::uint16_t>(left);
            rig.queue().add(m);
            rig.poll_all();
            EXPECT_EQ(rig.count(PortOutcome::malformed), 1U);
            EXPECT_EQ(rig.others(PortOutcome::malformed), 0U);
        }
}

TEST(PortOutcomes, FollowTheNicWhereItKnows) {
    const Bytes good = usual_frame();
    const Bytes bad = changed(good, 24, static_cast<std::uint8_t>(good[24] ^ 1), false);
    struct Case {
        std::uint64_t flags;
        PortOutcome for_good;
        PortOutcome for_bad;  ///< of a frame whose IPv4 sum is wrong
    };
    using enum PortOutcome;
    for (const Case& c : {
             Case{RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN, stream, bad_checksum},
             Case{RTE_MBUF_F_RX_IP_CKSUM_NONE, stream, bad_checksum},
             Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD, stream, stream},
             Case{RTE_MBUF_F_RX_IP_CKSUM_BAD, bad_checksum, bad_checksum},
             Case{RTE_MBUF_F_RX_L4_CKSUM_BAD, bad_checksum, bad_checksum},
             Case{RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_GOOD, bad_checksum, bad_checksum},
             Case{RTE_MBUF_F_RX_L4_CKSUM_GOOD, stream, bad_checksum},
             Case{RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD, stream, stream},
             Case{RTE_MBUF_F_RX_L4_CKSUM_NONE, stream, bad_checksum},
             Case{RTE_MBUF_F_RX_L4_CKSUM_NONE | RTE_MBUF_F_RX_IP_CKSUM_GOOD, stream, stream},
             Case{RTE_MBUF_F_RX_L4_CKSUM_NONE | RTE_MBUF_F_RX_IP_CKSUM_NONE, stream, bad_checksum},
             Case{RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_VLAN, stream, bad_checksum},
         }) {
        SCOPED_TRACE(c.flags);
        expect_port(c.for_good, good, c.flags);
        expect_port(c.for_bad, bad, c.flags);
        // The same once the stream's shape is known, which takes another way.
        for (const bool is_good : {true, false}) {
            OneStream rig;
            rig.give(MadeHeap{}.frames());
            const std::uint64_t before = rig.count(stream);
            rte_mbuf* const m = rig.pool.make(is_good ? good : bad);
            m->ol_flags = c.flags;
            rig.queue().add(m);
            rig.poll_all();
            const PortOutcome want = is_good ? c.for_good : c.for_bad;
            EXPECT_EQ(rig.count(bad_checksum), want == bad_checksum ? 1U : 0U);
            EXPECT_EQ(rig.count(stream) - before, want == stream ? 1U : 0U);
        }
    }
}

TEST(PortOutcomes, IgnoreTheUdpChecksum) {
    Bytes f = usual_frame();
    store_be16(&f[40], 0);
    expect_port(PortOutcome::stream, f);
    store_be16(&f[40], 0x1234);
    expect_port(PortOutcome::stream, f);
}

/// Returns the frame with its UDP checksum filled in.
Bytes with_checksum(Bytes f) {
    const std::span<const std::uint8_t> payload(&f[wire::kNetHeader], f.size() - wire::kNetHeader);
    store_be16(&f[40], wire::udp_checksum(load_be32(&f[26]), load_be32(&f[30]), load_be16(&f[34]),
                                          load_be16(&f[36]), payload));
    return f;
}

TEST(PortOutcomes, KnowTheUdpChecksumWhereSoftwareIsAskedToLook) {
    const auto outcome = [](const Bytes& f, std::uint64_t flags = 0, std::vector<std::size_t> segments = {}) {
        OneStream rig;
        rig.sources[0]->check_udp = true;
        // The second one would fit a template.
        for (int i = 0; i < 2; i++) {
            if (segments.empty()) {
                rte_mbuf* const m = rig.pool.make(f);
                m->ol_flags = flags;
                rig.queue().add(m);
            } else {
                rte_mbuf* const m = rig.queue().chain(f, segments);
                m->ol_flags = flags;
                rig.queue().add(m);
            }
            rig.poll_all();
        }
        EXPECT_EQ(rig.count(PortOutcome::stream) + rig.count(PortOutcome::bad_checksum), 2U);
        return rig.count(PortOutcome::bad_checksum) == 2U  ? PortOutcome::bad_checksum
               : rig.count(PortOutcome::bad_checksum) == 0 ? PortOutcome::stream
                                                           : PortOutcome::malformed;
    };
    for (const std::size_t odd : {0U, 1U}) {
        const Bytes good = with_checksum(frame(MadeHeap{}.datagram(0, 400 + odd, true), {}));
        EXPECT_EQ(outcome(good), PortOutcome::stream);
        EXPECT_EQ(outcome(good, 0, {20, 30, 50}), PortOutcome::stream);
        for (std::size_t first = 35; first < 60; first++)
            for (std::size_t second = 100; second < 104; second++)
                EXPECT_EQ(outcome(good, 0, {first, second, 51, 90}), PortOutcome::stream) << first << second;
        // Every bit counts, of the addresses too.
        for (const std::size_t at : {good.size() - 1, good.size() - 2, std::size_t{60}, std::size_t{27}}) {
            Bytes bad = good;
            bad[at] ^= 0x10;
            if (at < wire::kNetHeader)
                sum(bad);
            EXPECT_EQ(outcome(bad), PortOutcome::bad_checksum) << at;
            EXPECT_EQ(outcome(bad, 0, {20, 30, 50}), PortOutcome::bad_checksum) << at;
            EXPECT_EQ(outcome(bad, RTE_MBUF_F_RX_L4_CKSUM_GOOD), PortOutcome::stream)
                << "the port knows better";
        }
        Bytes none = good;
        store_be16(&none[40], 0);
        none.back() ^= 1;
        EXPECT_EQ(outcome(none), PortOutcome::stream) << "0 is no checksum";
    }
    // Ethernet pads short frames.
    Bytes padded = with_checksum(usual_frame());
    padded.insert(padded.end(), 7, 0xAA);
    EXPECT_EQ(outcome(padded), PortOutcome::stream);
}

TEST(PortOutcomes, TellPacketsOfTheWrongSourceFromThoseOfTheRight) {
    Rig rig;
    rig.add_source();
    rig.add_lane(0, lane_config("s0", {{{Way{}.to}, Way{}.port, {Way{}.from}}}));
    for (std::uint64_t cnt = 1; cnt <= 20; cnt++) {
        MadeHeap h{.cnt = cnt};
        rig.queue().add(h.frames());
        h.cnt += 1000;
        rig.queue().add(h.frames({.from = Way{}.from + 1}));
    }
    rig.poll_all();
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 60U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 60U);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 20U);
    for (const Taken& h : heaps) {
        EXPECT_LT(h.cnt, 1000U);
        EXPECT_EQ(h.source, Way{}.from);
    }
}

TEST(PortOutcomes, CountTaggedAndSegmentedPacketsBesides) {
    OneStream rig;
    rig.give(frame(MadeHeap{.cnt = 1}.datagram(0, 400, true), {.tags = {wire::kEtherTypeVlan}}));
    rig.give(frame(MadeHeap{.cnt = 1}.datagram(400, 400, false),
                   {.tags = {wire::kEtherTypeQinQ, wire::kEtherTypeVlan}}));
    rig.queue().add(rig.queue().chain(
        frame(MadeHeap{.cnt = 1}.datagram(800, 200, false), {.tags = {wire::kEtherTypeVlan}}), {100}));
    rig.poll_all();
    EXPECT_EQ(rig.picture().ports[0].rx_vlan_tagged, 3U);
    EXPECT_EQ(rig.picture().ports[0].rx_multi_segment, 1U);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], {.cnt = 1}));
}

TEST(PortOutcomes, CountFramesThatNoLinkCarriesBesides) {
    const Bytes whole = frame(MadeHeap{.cnt = 1, .length = 1000}.datagram(0, 1000, true));
    port::Capabilities port;
    OneStream unlimited;
    unlimited.sources[0]->limit(port);
    unlimited.give(whole);
    EXPECT_EQ(unlimited.picture().ports[0].rx_oversized_frames, 0U) << "the port knows no limits";

    OneStream rig;
    port.link_frame = static_cast<std::uint32_t>(whole.size());
    port.max_rx_frame = static_cast<std::uint32_t>(whole.size()) - 100;
    rig.sources[0]->limit(port);
    rig.give(frame(MadeHeap{.cnt = 2, .length = 1000}.datagram(0, 1000, true)));
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 0U) << "as long as the link allows";
    rig.give(frame(MadeHeap{.cnt = 3, .length = 1001}.datagram(0, 1001, true)));
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 1U) << "one byte longer, of a shape known already";
    EXPECT_EQ(rig.count(PortOutcome::malformed), 0U);

    Bytes cut = whole;
    cut.resize(port.max_rx_frame);
    rig.give(cut);
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 2U) << "cut";
    EXPECT_EQ(rig.count(PortOutcome::malformed), 1U);
    cut.resize(port.max_rx_frame - 1);
    rig.give(cut);
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 2U) << "cut by somebody else";
    EXPECT_EQ(rig.count(PortOutcome::malformed), 2U);

    cut.resize(port.max_rx_frame);
    rig.queue().add(rig.queue().chain(cut, {500}));
    rig.poll_all();
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 3U) << "cut, and in two segments";
    EXPECT_EQ(rig.count(PortOutcome::malformed), 3U);
}

Bytes igmp_report() {
    Bytes bytes(wire::kIgmpLeastRoom);
    bytes.resize(wire::build_igmp(bytes, {{2, 0, 0, 0, 0, 1}, {Way{}.from}, {}}, wire::IgmpType::v2_report,
                                  {0xEF010203}));
    return bytes;
}

Bytes arp_request() {
    Bytes bytes(wire::kLeastFrame);
    bytes.resize(wire::build_arp(bytes, wire::kBroadcastMac, {{2, 0, 0, 0, 0, 1}, {}, {}},
                                 {wire::ArpOperation::request, {2, 0, 0, 0, 0, 1}, {1}, {}, {2}}));
    return bytes;
}

TEST(PortOutcomes, IgmpAndArpAlsoGoToTheHosts) {
    const auto ring = std::make_unique<FrameRing>();
    std::vector<Bytes> heard;
    const auto listen = [&] {
        ring->take_all([&](std::span<const std::uint8_t> f) { heard.emplace_back(f.begin(), f.end()); });
        return std::exchange(heard, {});
    };
    OneStream rig;
    rig.give({igmp_report(), arp_request()});
    EXPECT_TRUE(listen().empty()) << "where there are any";
    EXPECT_EQ(rig.picture().ports[0].rx_hosts_full, 0U);

    rig.sources[0]->hosts = ring.get();
    rig.give({igmp_report(), usual_frame(), arp_request()});
    rig.queue().add(rig.queue().chain(igmp_report(), {20}));
    rig.poll_all();
    EXPECT_EQ(listen(), (std::vector<Bytes>{igmp_report(), arp_request(), igmp_report()}));
    EXPECT_EQ(rig.count(PortOutcome::igmp), 3U) << "counted once, as ever";
    EXPECT_EQ(rig.count(PortOutcome::arp), 2U);

    for (std::size_t i = 0; i < FrameRing::kFrames + 5; i++)
        rig.give(arp_request());
    Bytes too_long = arp_request();
    too_long.resize(FrameRing::kFrameBytes + 1);
    EXPECT_EQ(listen().size(), FrameRing::kFrames);
    rig.give(too_long);
    EXPECT_TRUE(listen().empty());
    EXPECT_EQ(rig.picture().ports[0].rx_hosts_full, 6U);
    EXPECT_EQ(rig.count(PortOutcome::arp), 2U + FrameRing::kFrames + 6);
}

TEST(PortOutcomes, MldAndNdpDoToo) {
    const MacAddress mac{2, 0, 0, 0, 0, 1};
    const wire::LinkAddress from{mac, {}, {}, wire::link_local_of(mac)};
    Bytes mld(wire::kMldLeastRoom);
    mld.resize(wire::build_mld(mld, from, wire::MldType::v1_report, {0xFF15000000000000, 1}));
    wire::NdpPacket solicitation;
    solicitation.from = from.link_local;
    solicitation.target = {0xFD00000000000000, 1};
    solicitation.to = wire::solicited_node(solicitation.target);
    Bytes ndp(wire::kNdpRoom);
    ndp.resize(wire::build_ndp(ndp, wire::multicast_mac6(solicitation.to), from, solicitation));
    expect_port(PortOutcome::mld, mld);
    expect_port(PortOutcome::ndp, ndp);
    Bytes echo = ndp;
    echo[wire::kEthernetHeader + wire::kIpv6Header] = 128;
    expect_port(PortOutcome::not_udp, echo);

    const auto ring = std::make_unique<FrameRing>();
    OneStream rig;
    rig.sources[0]->hosts = ring.get();
    rig.give({mld, echo, ndp});
    std::vector<Bytes> heard;
    ring->take_all([&](std::span<const std::uint8_t> f) { heard.emplace_back(f.begin(), f.end()); });
    EXPECT_EQ(heard, (std::vector<Bytes>{mld, ndp}));
}

// Outcomes of a stream's packets.

Bytes data(std::uint64_t cnt, std::size_t length, std::size_t offset, std::size_t n) {
    return frame(MadeHeap{.cnt = cnt, .length = length}.datagram(offset, n, false));
}

TEST(PacketOutcomes, AreEachReachedByAPacketOfTheirKind) {
    using enum PacketOutcome;
    {
        OneStream rig;
        rig.give(data(1, 1000, 0, 400));
        EXPECT_EQ(rig.count(placed), 1U);
        rig.give(data(1, 1000, 0, 400));
        EXPECT_EQ(rig.count(duplicate), 1U) << "the same bytes";
        rig.give(data(1, 1000, 200, 400));
        EXPECT_EQ(rig.count(inconsistent), 1U) << "a partial overlap";
        rig.give(data(1, 1001, 400, 100));
        EXPECT_EQ(rig.count(inconsistent), 2U) << "another length";
        rig.give({data(1, 1000, 400, 600), data(1, 1000, 400, 600)});
        EXPECT_EQ(rig.count(duplicate), 2U) << "of a complete heap";
        EXPECT_EQ(rig.count(placed), 2U);
        for (std::uint64_t cnt = 2; cnt <= 6; cnt++)
            rig.give(data(cnt, 1000, 0, 400));
        rig.give(data(2, 1000, 400, 400));
        EXPECT_EQ(rig.count(late), 1U) << "of an evicted heap";
        rig.give(data(7, 256 * 1024 + 1, 0, 400));
        EXPECT_EQ(rig.count(heap_too_big), 1U);
        Bytes broken = data(8, 1000, 0, 400);
        broken[wire::kNetHeader] ^= 1;
        rig.give(broken);
        EXPECT_EQ(rig.count(malformed), 1U);
        rig.give(frame(stop_datagram(9)));
        EXPECT_EQ(rig.count(control), 1U);
        EXPECT_EQ(rig.lane().stops_seen[0], 1U);
    }
    {
        LaneConfig config = lane_config("s0", one_group());
        config.window.in_order = true;
        OneStream rig(config);
        rig.give(data(1, 1000, 0, 400));
        rig.give(data(1, 1000, 500, 400));
        EXPECT_EQ(rig.count(out_of_order), 1U);
    }
    {
        LaneConfig config = lane_config("s0", one_group());
        config.window.control_heaps = true;
        OneStream rig(config);
        rig.give(frame(stop_datagram(9)));
        EXPECT_EQ(rig.count(placed), 1U) << "the stream wants such heaps";
        EXPECT_EQ(rig.ended(HeapEnd::complete), 1U);
        EXPECT_EQ(rig.lane().stops_seen[0], 1U);
    }
    {
        LaneConfig config = lane_config("s0", one_group());
        config.window.stop_on_stop_item = true;
        OneStream rig(config);
        rig.give(frame(stop_datagram(9)));
        rig.give(data(1, 1000, 0, 400));
        EXPECT_EQ(rig.count(stopped), 1U);
    }
    {
        LaneConfig config = lane_config("s0", one_group());
        config.window.max_live = 64;
        config.window.max_heap_bytes = 1024 * 1024;
        Rig rig(1U << 20, 1U << 20);
        rig.add_source();
        rig.add_lane(0, config);
        rig.give(
            {data(1, 1024 * 1024, 0, 400), data(2, 1024 * 1024, 0, 400), data(2, 1024 * 1024, 400, 400)});
        EXPECT_EQ(rig.count(no_memory), 2U);
        EXPECT_EQ(rig.count(placed), 1U);
    }
}

TEST(PacketOutcomes, KnowPayloadsAboveTheLimitWhateverIsInThem) {
    for (const bool known_shape : {false, true}) {
        LaneConfig config = lane_config("s0", one_group());
        config.max_packet_size = 8 + 4 * 8 + 400;
        OneStream rig(config);
        if (known_shape)
            rig.give(data(1, 10000, 400, 400));
        rig.give(data(1, 10000, 0, 400));
        EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
        rig.give(data(1, 10000, 1000, 401));
        EXPECT_EQ(rig.count(PacketOutcome::oversize), 1U);
        rig.give(frame(Bytes(config.max_packet_size + 1)));
        EXPECT_EQ(rig.count(PacketOutcome::oversize), 2U);
        rig.queue().add(rig.queue().chain(data(1, 10000, 1000, 401), {60}));
        rig.poll_all();
        EXPECT_EQ(rig.count(PacketOutcome::oversize), 3U);
    }
}

TEST(PacketOutcomes, AcceptEmptyDatagramsAsBroken) {
    OneStream rig;
    rig.give(frame({}));
    EXPECT_EQ(rig.count(PacketOutcome::malformed), 1U);
}

TEST(PacketOutcomes, CountStopItemsByEndpoint) {
    Rig rig;
    rig.add_source();
    LaneConfig config = lane_config("s0", parse_endpoints("239.1.2.3+2:7148"));
    rig.add_lane(0, config);
    rig.give(frame(stop_datagram(1), {.to = 0xEF010205}));
    rig.give(frame(stop_datagram(1), {.to = 0xEF010203}));
    EXPECT_EQ(rig.lane().stops_seen, (std::vector<std::uint64_t>{1, 0, 1})) << "senders may count alike";
    EXPECT_EQ(rig.lane().counters.stop_items, 1U) << "for the window it is the same heap again";
    // Data with a stop beside it.
    wire::test::Packet p;
    p.payload = {1, 2, 3, 4};
    p.specials(5, 4, 0).immediate(wire::item::kStreamCtrl, wire::stream_ctrl::kStop).address(0x1000, 0);
    rig.give(frame(p.build(), {.to = 0xEF010204}));
    EXPECT_EQ(rig.lane().stops_seen, (std::vector<std::uint64_t>{1, 1, 1}));
    EXPECT_EQ(rig.count(PacketOutcome::control), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::duplicate), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 1U);
}

}  // namespace
}  // namespace spead::recv::test
