// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests packets in several segments: the same as in one segment, at any split.
namespace spead::recv::test {
namespace {

/// Returns a heap that is small enough for every split, and large enough for several items and odd lengths.
MadeHeap small_heap(std::uint64_t cnt) {
    const wire::Flavour flavour(48);
    return {.cnt = cnt,
            .length = 61,
            .packet = 37,
            .items = {flavour.make_address(0x1000, 0), flavour.make_address(0x1001, 30),
                      flavour.make_immediate(0x1002, cnt)}};
}

/// Counts of every outcome, of the port and of the stream.
std::vector<std::uint64_t> outcomes(const Rig& rig) {
    const stats::Snapshot s = rig.picture();
    std::vector<std::uint64_t> all(s.ports[0].rx.begin(), s.ports[0].rx.end());
    all.insert(all.end(), s.streams[0].packets.begin(), s.streams[0].packets.end());
    all.push_back(s.streams[0].bytes);
    all.push_back(s.ports[0].rx_bytes);
    return all;
}

struct WayName {
    const char* name;
    Way way;
};

void PrintTo(const WayName& w, std::ostream* out) {
    *out << w.name;
}

class SplitPackets : public testing::TestWithParam<WayName> {};

TEST_P(SplitPackets, MakeTheSameHeapsForEverySplitInTwo) {
    OneStream rig;
    const std::size_t length = small_heap(1).frames(GetParam().way)[0].size();
    for (std::size_t at = 0; at <= length; at++) {
        const MadeHeap h = small_heap(1 + at);
        for (const Bytes& f : h.frames(GetParam().way))
            rig.queue().add(rig.queue().chain(f, {at}));
        rig.poll_all();
        const std::vector<Taken> heaps = rig.take();
        ASSERT_EQ(heaps.size(), 1U) << "split at " << at;
        ASSERT_TRUE(is_whole(heaps[0], h)) << "split at " << at;
        ASSERT_EQ(heaps[0].items.size(), 3U);
    }
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(rig.picture().ports[0].rx_multi_segment, 2 * (length + 1));
}

TEST_P(SplitPackets, MakeTheSameHeapsForEverySplitInThree) {
    OneStream rig;
    const Bytes shape = small_heap(1).frames(GetParam().way)[0];
    std::uint64_t cnt = 0;
    for (std::size_t a = 0; a <= shape.size(); a++)
        for (std::size_t b = a; b <= shape.size(); b++) {
            cnt++;
            const std::vector<Bytes> frames = small_heap(cnt).frames(GetParam().way);
            rig.queue().add(rig.queue().chain(frames[0], {a, b - a}));
            rig.queue().add(frames[1]);
            if (rig.queue().waiting() < 64 && b != shape.size())
                continue;
            rig.poll_all();
            for (const Taken& h : rig.take())
                ASSERT_TRUE(is_whole(h, small_heap(h.cnt))) << "splits " << a << ", " << b << " or before";
        }
    EXPECT_EQ(rig.ended(HeapEnd::complete), cnt);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
}

INSTANTIATE_TEST_SUITE_P(Headers, SplitPackets,
                         testing::Values(WayName{"usual", {}}, WayName{"padded", {.padding = 9}},
                                         WayName{"tagged", {.tags = {wire::kEtherTypeVlan}}},
                                         WayName{"tagged_twice_with_options",
                                                 {.tags = {wire::kEtherTypeQinQ, wire::kEtherTypeVlan},
                                                  .ihl = 15}}),
                         [](const auto& each) { return std::string(each.param.name); });

/// Requires the same outcome of a packet in two segments as in one. That holds for broken ones too.
TEST(SegmentedPackets, EndWhereTheyEndInOneSegment) {
    const Bytes right = small_heap(1).frames()[0];
    Random random(1);
    OneStream whole;
    OneStream split;
    for (std::size_t at = 0; at < right.size(); at++)
        for (int change = 0; change < 4; change++) {
            Bytes f = right;
            f[at] = static_cast<std::uint8_t>(change == 0 ? f[at] ^ 1 : random());
            if (change == 1)
                sum(f);
            if (change == 2)
                f.resize(at);
            whole.give(f);
            split.queue().add(split.queue().chain(f, {random() % (f.size() + 1)}));
            split.poll_all();
            ASSERT_EQ(outcomes(split), outcomes(whole)) << "byte " << at << ", change " << change;
            ASSERT_EQ(split.take(), whole.take());
        }
    EXPECT_GT(whole.count(PacketOutcome::malformed), 20U);
    EXPECT_GT(whole.count(PacketOutcome::placed), 10U);
    EXPECT_GT(whole.others(PortOutcome::stream), 100U);
}

TEST(SegmentedPackets, MayHaveEmptySegmentsAndSegmentsOfOneByte) {
    OneStream rig;
    const Bytes f = small_heap(1).frames()[0];
    const Bytes second = small_heap(1).frames()[1];
    rig.queue().add(rig.queue().chain(f, std::vector<std::size_t>(f.size(), 1)));
    std::vector<std::size_t> with_empty;
    for (std::size_t i = 0; i < 20; i++)
        with_empty.insert(with_empty.end(), {5, 0, 0});
    rig.queue().add(rig.queue().chain(second, with_empty));
    rig.poll_all();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], small_heap(1)));
}

/// Sends jumbo frames in 2 KB buffers, as net_pcap and mlx5 with scattered receive deliver them.
TEST(SegmentedPackets, CarryJumboPayloads) {
    OneStream rig;
    const MadeHeap h{.cnt = 3, .length = 100'000, .packet = 8900};
    for (const Bytes& f : h.frames())
        rig.queue().add(rig.queue().chain(f, {1920, 2048, 2048, 2048}));
    rig.poll_all();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
}

TEST(SegmentedPackets, MayHaveAHeaderOfManyItemPointersInManySegments) {
    OneStream rig;
    MadeHeap h{.cnt = 3, .length = 500, .packet = 500};
    for (std::uint64_t i = 0; i < 900; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    const Bytes f = h.frames()[0];
    rig.queue().add(rig.queue().chain(f, {100, 100, 1000, 3, 3000}));
    rig.poll_all();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
    ASSERT_EQ(heaps[0].items.size(), 900U);
    for (std::uint64_t i = 0; i < 900; i++)
        EXPECT_EQ(byte_swap(heaps[0].items[i]), h.items[i]);
}

/// Segments may come from several pools, and payload may be an external buffer, as a ring gives back what a
/// sender of this process sent.
TEST(SegmentedPackets, MayConsistOfBuffersOfAnyKind) {
    const Pool other(255);
    const MadeHeap h = small_heap(1);
    OneStream rig;
    const std::vector<Bytes> frames = h.frames();
    rte_mbuf* first = rig.pool.make({frames[0].begin(), frames[0].begin() + 50});
    ASSERT_EQ(rte_pktmbuf_chain(first, other.make({frames[0].begin() + 50, frames[0].end()})), 0);
    rig.queue().add(first);
    rte_mbuf* second = other.make({frames[1].begin(), frames[1].end() - 24});
    const Bytes bytes(frames[1].end() - 24, frames[1].end());
    port::test::ExternalBuffer external(bytes);
    ASSERT_EQ(rte_pktmbuf_chain(second, external.attach(rig.pool)), 0);
    rig.queue().add(second);
    rig.queue().add(other.make(small_heap(2).frames()[0]));
    rig.poll_all();
    EXPECT_EQ(external.released(), 1);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
}

}  // namespace
}  // namespace spead::recv::test
