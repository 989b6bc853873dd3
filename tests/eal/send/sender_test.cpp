// SPDX-License-Identifier: BSD-3-Clause
// Packets that the sender puts on the wire, and its reports to the producer.
#include <array>
#include <gmock/gmock.h>

#include <rte_cycles.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TEST_F(SenderTest, SendsThePacketsOfTheHeapInValidHeaders) {
    OutgoingHeap& h = heap(10'000);
    h.add_immediate(0x1700, 5);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    for (const Frame& frame : queue.frames) {
        const Bytes mac(frame.bytes.begin(), frame.bytes.begin() + 12);
        EXPECT_EQ(hex(mac), "01005e0a0a00020000000001");
        EXPECT_EQ(rte_be_to_cpu_16(frame.ip().total_length), frame.bytes.size() - 14);
        EXPECT_EQ(frame.ip().time_to_live, 1);
        EXPECT_EQ(rte_be_to_cpu_32(frame.ip().src_addr), 0x0A000001U);
        rte_ipv4_hdr copy = frame.ip();
        copy.hdr_checksum = 0;
        EXPECT_EQ(frame.ip().hdr_checksum, rte_ipv4_cksum(&copy));
        EXPECT_EQ(rte_be_to_cpu_16(frame.udp().dgram_len), frame.bytes.size() - 34);
        EXPECT_EQ(rte_be_to_cpu_16(frame.udp().dst_port), 7148);
        EXPECT_EQ(rte_be_to_cpu_16(frame.udp().src_port), 50000);
        EXPECT_EQ(frame.udp().dgram_cksum, 0);
        EXPECT_EQ(frame.flags, 0U);
    }
    EXPECT_THAT(statuses(), Each(kSent));
    EXPECT_EQ(completions.size(), 1U);
}

TEST_F(SenderTest, SendsTheSameBytesWhateverIsCopied) {
    for (const ZeroCopy mode : {ZeroCopy::automatic, ZeroCopy::always, ZeroCopy::never}) {
        for (const std::uint32_t size : {56U, 100U, 200U, 1472U, 8972U, 65360U}) {
            SCOPED_TRACE(testing::Message() << "mode " << static_cast<int>(mode) << ", packets of " << size);
            config.zero_copy = mode;
            config.max_packet_size = size;
            OutgoingHeap& h = heap(size < 1000 ? 5000 : 200'001, 17);
            h.add_item(0x1601, memory.part(300'000, 77));
            h.add_item(0x1602, memory.part(310'000, 0));
            ASSERT_TRUE(sender().submit({&h}));
            ASSERT_TRUE(run());
            EXPECT_EQ(payloads(), expected(h, 1));
            const auto& c = sender().counters();
            if (mode == ZeroCopy::never) {
                EXPECT_EQ(c.zero_copy_packets, 0U);
            }
            if (mode == ZeroCopy::always || (mode == ZeroCopy::automatic && size > 200)) {
                EXPECT_GT(c.zero_copy_packets, 0U);
            }
            if (mode == ZeroCopy::always) {
                EXPECT_EQ(c.copied_packets, 0U);
            }
            for (const Frame& frame : queue.frames)
                EXPECT_EQ(frame.external, frame.segments > 1);
            finish();
            queue.frames.clear();
            queue.taken = 0;
        }
    }
}

TEST_F(SenderTest, TagsFramesForAVlan) {
    config.vlan = std::uint16_t{0x2064};
    config.dscp = 46;
    config.ttl = 9;
    OutgoingHeap& h = heap(5000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    for (const Frame& frame : queue.frames) {
        EXPECT_EQ(load_be32(frame.bytes.data() + 12), 0x81002064U);
        EXPECT_EQ(frame.ip().type_of_service, 46 << 2);
        EXPECT_EQ(frame.ip().time_to_live, 9);
    }
}

TEST_F(SenderTest, MakesValidUdpChecksumsOverEverySegment) {
    config.udp_checksum = true;
    std::size_t verified = 0;
    queue.look = [&](const rte_mbuf& m) {
        const auto* const ip = rte_pktmbuf_mtod_offset(&m, const rte_ipv4_hdr*, 14);
        EXPECT_EQ(rte_ipv4_udptcp_cksum_mbuf_verify(&m, ip, 34), 0);
        EXPECT_NE(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, 0);
        queue.frames.push_back(frame_of(m));
        ++verified;
    };
    OutgoingHeap& h = heap(9'999, 1);
    h.add_item(0x1601, memory.part(20'001, 333));  // odd lengths at odd addresses
    h.add_item(0x1602, memory.part(30'000, 4001));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    EXPECT_GT(verified, 5U);
    EXPECT_GT(sender().counters().zero_copy_packets, 0U);
}

TEST_F(SenderTest, LeavesUdpChecksumsToAPortThatMakesThem) {
    config.udp_checksum = true;
    config.capabilities.tx_offloads = 1U << 2;  // RTE_ETH_TX_OFFLOAD_UDP_CKSUM
    queue.look = [&](const rte_mbuf& m) {
        EXPECT_EQ(m.ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM),
                  RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
        EXPECT_EQ(m.l2_len, 14);
        EXPECT_EQ(m.l3_len, 20);
        const auto* const ip = rte_pktmbuf_mtod_offset(&m, const rte_ipv4_hdr*, 14);
        EXPECT_EQ(reinterpret_cast<const rte_udp_hdr*>(ip + 1)->dgram_cksum, rte_ipv4_phdr_cksum(ip, 0));
        queue.frames.push_back(frame_of(m));
    };
    OutgoingHeap& h = heap(10'000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
}

TEST_F(SenderTest, SendsPayloadOfSeveralRegionsAsItLies) {
    Memory other(100'000), third(100'000);
    regions.add(other.region());
    regions.add(third.region());
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    // Three pieces in one packet, four in the next.
    h.add_item(0x1600, memory.part(0, 400));
    h.add_item(0x1601, other.part(0, 400));
    h.add_item(0x1602, third.part(0, 1300));
    h.add_item(0x1603, other.part(5000, 200));
    h.add_item(0x1604, memory.part(5000, 200));
    h.add_item(0x1605, other.part(9000, 3000));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    ASSERT_GE(queue.frames.size(), 2U);
    EXPECT_EQ(queue.frames[0].segments, 4);
    EXPECT_EQ(queue.frames[1].segments, 1) << "more pieces than segments: copied";
    EXPECT_EQ(sender().counters().unregistered_packets, 0U);
}

TEST_F(SenderTest, CopiesAndCountsMemoryOutsideEveryRegion) {
    const Memory strange(10'000);
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_item(0x1600, memory.part(0, 3 * 1432 - 8));
    h.add_item(0x1601, strange.part(0, 2000));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    EXPECT_EQ(sender().counters().unregistered_packets, 2U);
    EXPECT_EQ(sender().counters().zero_copy_packets, 3U);
}

TEST_F(SenderTest, CopiesDescriptorsWithoutCallingThemUnregistered) {
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_descriptor({.id = 0x1600, .name = "x", .description = "y", .numpy_header = "{'descr': '<u2'}"});
    h.add_item(0x1600, memory.part(0, 5000));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    EXPECT_EQ(sender().counters().unregistered_packets, 0U);
    EXPECT_FALSE(queue.frames.front().external);
    EXPECT_GT(sender().counters().zero_copy_packets, 0U);
}

TEST_F(SenderTest, CopiesEverythingOnAPortThatTakesNoChains) {
    config.capabilities.tx_multi_segment = false;
    OutgoingHeap& h = heap(100'000);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    for (const Frame& frame : queue.frames)
        EXPECT_EQ(frame.segments, 1);
    EXPECT_EQ(Sender::memory_need(config).external_mbufs, 0U);
}

TEST_F(SenderTest, SendsHeadersWithHundredsOfPointers) {
    config.max_packet_size = 8972;
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    for (std::uint64_t i = 0; i < 300; ++i)
        h.add_immediate(0x1000 + i, i);
    h.add_item(0x2000, memory.part(0, 50'000));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    EXPECT_TRUE(queue.frames.front().external) << "long headers do not force a copy";
}

TEST_F(SenderTest, RepeatsPointersInEveryPacket) {
    OutgoingHeap& h = heap(50'000);
    h.add_immediate(0x1700, 9);
    h.set_repeat_pointers(true);
    OutgoingHeap& many = heap(50'000);
    for (std::uint64_t i = 0; i < 40; ++i)
        many.add_immediate(0x1700 + i, 9);
    many.set_repeat_pointers(true);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(sender().submit({&many}));
    ASSERT_TRUE(run());
    std::vector<Bytes> all = expected(h, 1);
    for (Bytes& b : expected(many, 2))
        all.push_back(std::move(b));
    EXPECT_EQ(payloads(), all);
}

TEST_F(SenderTest, CountsHeapsFromTheStartInStepsModuloTheFlavour) {
    config.first_cnt = (std::uint64_t{1} << 48) - 3;
    config.cnt_step = 2;
    std::vector<std::uint64_t> cnts;
    OutgoingHeap& h = heap(10);
    OutgoingHeap& own = heap(10);
    own.set_cnt(77);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(sender().submit({.heap = &h, .cnt = 5}));
    ASSERT_TRUE(sender().submit({&own}));
    ASSERT_TRUE(sender().submit({.heap = &own, .cnt = 78}));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    for (const Bytes& payload : payloads())
        cnts.push_back(cnt_of(payload));
    const std::vector<std::uint64_t> wanted{0xFFFFFFFFFFFD, 5, 77, 78, 0xFFFFFFFFFFFF, 1};
    EXPECT_EQ(cnts, wanted);
    std::vector<std::uint64_t> told;
    for (const Completion& c : completions)
        told.push_back(c.cnt);
    EXPECT_EQ(told, wanted);
}

TEST_F(SenderTest, SendsEachHeapToItsSubstream) {
    config.destinations = {
        group(0), group(1), {Endpoint{Ipv4{0x0A000002}, 9999, {}}, wire::MacAddress{2, 9, 9, 9, 9, 9}}};
    OutgoingHeap& h = heap(100);
    for (const std::uint32_t substream : {2U, 0U, 1U})
        ASSERT_TRUE(sender().submit({.heap = &h, .substream = substream}));
    ASSERT_TRUE(run());
    ASSERT_EQ(queue.frames.size(), 3U);
    EXPECT_EQ(queue.frames[0].destination(), 0x0A000002U);
    EXPECT_EQ(rte_be_to_cpu_16(queue.frames[0].udp().dst_port), 9999);
    EXPECT_EQ(hex(Bytes(queue.frames[0].bytes.begin(), queue.frames[0].bytes.begin() + 6)), "020909090909");
    EXPECT_EQ(queue.frames[1].destination(), 0xEF0A0A00U);
    EXPECT_EQ(queue.frames[2].destination(), 0xEF0A0A01U);
    EXPECT_EQ(completions.at(0).substream, 2U);
}

TEST_F(SenderTest, FollowsADestinationToANewMacAddress) {
    config.destinations = {{Endpoint{Ipv4{0x0A000002}, 7148, {}}, wire::MacAddress{2, 9, 9, 9, 9, 9}},
                           group(1)};
    config.zero_copy = ZeroCopy::never;
    // The port takes a few packets of the first heap, and the rest after the change.
    queue.accept = [this](std::uint16_t n) { return queue.taken < 10 ? std::min<std::uint16_t>(n, 10) : 0; };
    ASSERT_TRUE(sender().submit({.heap = &heap(500'000)}));
    ASSERT_TRUE(sender().submit({.heap = &heap(10'000), .substream = 1}));
    poll();
    sender().set_mac(0, {2, 7, 7, 7, 7, 7});
    queue.accept = [](std::uint16_t n) { return n; };
    ASSERT_TRUE(run());
    std::size_t before = 0, after = 0;
    for (const Frame& frame : queue.frames) {
        const std::string mac = hex(Bytes(frame.bytes.begin(), frame.bytes.begin() + 6));
        if (frame.destination() != 0x0A000002U) {
            EXPECT_EQ(mac, "01005e0a0a01");
        } else if (mac == "020909090909") {
            EXPECT_EQ(after, 0U) << "never back";
            before++;
        } else {
            EXPECT_EQ(mac, "020707070707");
            after++;
        }
    }
    EXPECT_GE(before, 10U);
    EXPECT_GT(after, 200U) << "also of the heap that had begun";
}

TEST_F(SenderTest, SendsASerialGroupHeapAfterHeap) {
    OutgoingHeap &a = heap(5000), &b = heap(3000);
    const std::array<Submission, 2> two{Submission{.heap = &a}, Submission{.heap = &b}};
    ASSERT_TRUE(sender().submit(two, Interleave::serial));
    ASSERT_TRUE(run());
    std::vector<std::uint64_t> cnts;
    for (const Bytes& payload : payloads())
        cnts.push_back(cnt_of(payload));
    EXPECT_EQ(cnts, (std::vector<std::uint64_t>{1, 1, 1, 1, 2, 2, 2}));
}

TEST_F(SenderTest, InterleavesAGroupPacketByPacketUntilEachHeapIsDone) {
    OutgoingHeap &a = heap(2 * 1432 - 8), &b = heap(5 * 1432 - 8), &c = heap(3 * 1432 - 8);
    OutgoingHeap& after = heap(10);
    const std::array<Submission, 3> three{Submission{.heap = &a}, Submission{.heap = &b},
                                          Submission{.heap = &c}};
    ASSERT_TRUE(sender().submit(three, Interleave::round_robin));
    ASSERT_TRUE(sender().submit({&after}));
    ASSERT_TRUE(run());
    std::vector<std::uint64_t> cnts;
    for (const Bytes& payload : payloads())
        cnts.push_back(cnt_of(payload));
    EXPECT_EQ(cnts, (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3, 2, 3, 2, 2, 4}));
    std::vector<std::uint64_t> told;
    for (const Completion& done : completions)
        told.push_back(done.cnt);
    EXPECT_EQ(told, (std::vector<std::uint64_t>{1, 2, 3, 4})) << "completions keep the order of submission";
}

TEST_F(SenderTest, InterleavesALargeGroupWithoutLosingABytes) {
    std::vector<Submission> group;
    std::vector<std::vector<Bytes>> wanted;
    for (std::size_t i = 0; i < 64; ++i) {
        OutgoingHeap& h = heap(100 + 997 * (i % 13), i * 1000);
        wanted.push_back(expected(h, i + 1));
        group.push_back({.heap = &h});
    }
    ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
    ASSERT_TRUE(run());
    std::vector<std::vector<Bytes>> got(64);
    for (const Bytes& payload : payloads())
        got.at(cnt_of(payload) - 1).push_back(payload);
    EXPECT_EQ(got, wanted);
}

TEST_F(SenderTest, TakesAGroupWholeOrNotAtAll) {
    config.max_heaps = 4;
    OutgoingHeap& h = heap(100);
    std::vector<Submission> three(3, Submission{.heap = &h});
    EXPECT_TRUE(sender().submit(three));
    EXPECT_EQ(sender().free_heaps(), 1U);
    EXPECT_FALSE(sender().submit(three));
    EXPECT_EQ(sender().in_flight(), 3U);
    EXPECT_TRUE(sender().submit({&h}));
    EXPECT_FALSE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(queue.frames.size(), 4U);
    EXPECT_TRUE(sender().submit(three));
    ASSERT_TRUE(run());
    EXPECT_EQ(cnt_of(payloads().back()), 7U) << "a refused group uses up no heap counts";
}

TEST_F(SenderTest, RefusesWhatCannotBeSentWhenItIsSubmitted) {
    config.max_heaps = 4;
    config.max_packet_size = 56;
    OutgoingHeap& good = heap(100);
    OutgoingHeap& repeat = heap(100);
    repeat.set_repeat_pointers(true);
    std::array<Submission, 2> group{Submission{.heap = &good}, Submission{.heap = &repeat}};
    EXPECT_THAT(error_of([&] { sender().submit(group); }),
                AllOf(HasSubstr("send test: "), HasSubstr("too small to repeat")));
    group[1] = {.heap = nullptr};
    EXPECT_THAT(error_of([&] { sender().submit(group); }), HasSubstr("without a heap"));
    group[1] = {.heap = &good, .substream = 1};
    EXPECT_THAT(error_of([&] { sender().submit(group); }), HasSubstr("substream 1 does not exist"));
    group[1] = {.heap = &good, .cnt = std::uint64_t{1} << 48};
    EXPECT_THAT(error_of([&] { sender().submit(group); }), HasSubstr("does not fit SPEAD-64-48"));
    group[1] = {.heap = &good, .rate = -1.0};
    EXPECT_THAT(error_of([&] { sender().submit(group); }), HasSubstr("rate"));
    const std::vector<Submission> five(5, Submission{.heap = &good});
    EXPECT_THAT(error_of([&] { sender().submit(five); }), HasSubstr("max_heaps is 4"));
    EXPECT_EQ(sender().in_flight(), 0U);
    ASSERT_TRUE(sender().submit({&good}));
    ASSERT_TRUE(run());
    EXPECT_EQ(cnt_of(payloads().front()), 1U) << "refused heaps use up no heap counts";
}

TEST_F(SenderTest, RefusesToChangeAHeapInFlight) {
    OutgoingHeap& h = heap(100);
    ASSERT_TRUE(sender().submit({&h}));
    EXPECT_TRUE(h.in_flight());
    EXPECT_THAT(error_of([&] { h.add_immediate(0x1700, 1); }), HasSubstr("while it is being sent"));
    EXPECT_THAT(error_of([&] { h.set_cnt(3); }), HasSubstr("while it is being sent"));
    ASSERT_TRUE(run());
    EXPECT_FALSE(h.in_flight());
    h.add_immediate(0x1700, 1);
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads().back(), expected(h, 2).back());
}

TEST_F(SenderTest, MaySendOneHeapManyTimesAtOnce) {
    OutgoingHeap& h = heap(20'000);
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    std::vector<Bytes> all;
    for (std::uint64_t cnt = 1; cnt <= 10; ++cnt)
        for (Bytes& b : expected(h, cnt))
            all.push_back(std::move(b));
    EXPECT_EQ(payloads(), all);
}

TEST_F(SenderTest, NeedsDeviceMemoryToBeSentAsItLies) {
    Memory device(100'000);
    regions.add(device.region(false));
    OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
    h.add_item(0x1600, device.part(0, 50));  // small: would be copied if it could
    h.add_item(0x1601, memory.part(0, 100));
    h.add_item(0x1602, device.part(100, 1400));
    h.add_descriptor(memory.part(0, 90));
    h.add_item(0x1603, device.part(1500, 90'000));
    ASSERT_TRUE(sender().submit({&h}));
    ASSERT_TRUE(run());
    EXPECT_EQ(payloads(), expected(h, 1));
    for (const Frame& frame : queue.frames)
        EXPECT_TRUE(frame.external);
    EXPECT_EQ(sender().counters().copied_packets, 0U);
}

TEST_F(SenderTest, AlwaysMeansThatNothingIsCopiedInSilence) {
    const Memory strange(10'000);
    config.zero_copy = ZeroCopy::always;
    OutgoingHeap& h = heaps.emplace_back();
    h.add_item(0x1600, strange.part(0, 5000));
    EXPECT_THAT(error_of([&] { sender().submit({&h}); }), HasSubstr("outside every registered region"));
    finish();
    config.capabilities.tx_external_buffer = false;
    EXPECT_THAT(error_of([&] { sender(); }), HasSubstr("cannot send from registered memory"));
}

TEST_F(SenderTest, RefusesConfigurationsThatCannotBe) {
    const SenderConfig good = [this] {
        SenderConfig c = config;
        c.queue = queue.queue();
        return c;
    }();
    const auto error = [&](const std::function<void(SenderConfig&)>& change) {
        SenderConfig c = good;
        change(c);
        return error_of([&] { const Sender s(c); });
    };
    EXPECT_THAT(error([](SenderConfig& c) { c.destinations.clear(); }),
                HasSubstr("the destination is missing"));
    EXPECT_THAT(error([](SenderConfig& c) { c.destinations[0].endpoint.address = Ipv4{0x0A000001}; }),
                AllOf(HasSubstr("10.0.0.1:7148 needs a MAC address"), HasSubstr("give it with `dst_mac`")));
    EXPECT_THAT(error([](SenderConfig& c) { c.max_packet_size = 48; }), HasSubstr("too small"));
    EXPECT_THAT(error([](SenderConfig& c) { c.max_packet_size = 65'400; }), HasSubstr("at most 65360"));
    EXPECT_THAT(error([](SenderConfig& c) { c.capabilities.max_tx_frame = 1513; }),
                AllOf(HasSubstr("frames of 1514"), HasSubstr("lower the packet size to 1471")));
    EXPECT_THAT(error([](SenderConfig& c) { c.pacing.rate = -1; }), HasSubstr("rate"));
    EXPECT_THAT(error([](SenderConfig& c) { c.pacing.burst_rate_ratio = 0.5; }), HasSubstr("ratio"));
    EXPECT_THAT(error([](SenderConfig& c) { c.max_heaps = 0; }), HasSubstr("max_heaps"));
    EXPECT_THAT(error([](SenderConfig& c) { c.queue.burst = nullptr; }), HasSubstr("no transmit queue"));
    EXPECT_THAT(error([](SenderConfig& c) {
                    c.tx_descriptors = 65'535;
                    c.max_packet_size = 65'000;
                    c.zero_copy = ZeroCopy::never;
                }),
                AllOf(HasSubstr("no memory"), HasSubstr("-m")));
}

}  // namespace
}  // namespace spead::send::test
