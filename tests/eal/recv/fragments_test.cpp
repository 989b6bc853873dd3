// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/fragments.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/tick_rate.hpp"
#include "recv/distributor.hpp"
#include "tests/eal/recv/rig.hpp"
#include "tests/unit/wire/frames6.hpp"

/// Tests IP fragments on a source that puts them together: each is in exactly one counter, and a datagram is
/// what it was before it was cut.
namespace spead::recv::test {
namespace {

using spead::test::cut;
using spead::test::fragments_of;
using spead::test::with_udp_sum;

/// Returns a heap in packets that are much longer than an MTU.
MadeHeap long_heap(std::uint64_t cnt) {
    const wire::Flavour flavour(48);
    return {.cnt = cnt,
            .length = 40'000,
            .packet = 8192,
            .items = {flavour.make_address(0x1000, 0), flavour.make_immediate(0x1001, cnt)}};
}

constexpr Ipv6 kGroup6{0xFF15000000000000, 1};

/// Returns the heap's packets as frames of IPv4 or IPv6.
std::vector<Bytes> frames(const MadeHeap& heap, bool ipv6, const Way& way = {}) {
    std::vector<Bytes> all = heap.frames(way);
    for (Bytes& f : all) {
        if (ipv6) {
            wire::test::Frame6 to;
            to.payload.assign(f.begin() + wire::kNetHeader, f.end());
            f = to.build();
        }
        f = with_udp_sum(f);
    }
    return all;
}

struct Reassembling : Rig {
    explicit Reassembling(std::uint32_t datagrams = 64, const LaneConfig& config = both_groups())
        : Rig(8U << 20, 512U << 10, 8191, 2048) {
        add_source();
        add_lane(0, config);
        source().flows6 = FlowCache6(source().classifier.size6());
        source().reassembler = std::make_unique<Reassembler>(datagrams, SOCKET_ID_ANY, "test");
        now = 1;
    }
    ~Reassembling() {
        for (int i = 0; i < 1000 && !agent.flush(); i++)
            take();
        EXPECT_EQ(reassembly().held_now, 0U) << "flush() gives up what is not whole";
        check();
    }
    static LaneConfig both_groups() {
        std::vector<Endpoint> endpoints = one_group();
        endpoints.push_back({kGroup6, Way{}.port, {}});
        return lane_config("s0", endpoints);
    }
    Source& source() { return *sources[0]; }
    const stats::ReassemblyCounts& reassembly() const { return sources[0]->counters.reassembly; }
    /// Lets the patience with all that is held end.
    void wait() {
        now += static_cast<std::uint64_t>(Reassembler::kPatience * ticks_per_second()) + 2000;
        agent.housekeep(now);
        check();
    }
    std::uint64_t bytes() const { return sources[0]->counters.bytes; }
};

std::uint64_t size_of(const std::vector<Bytes>& all) {
    std::uint64_t n = 0;
    for (const Bytes& f : all)
        n += f.size();
    return n;
}

class Fragments : public testing::TestWithParam<bool> {};

TEST_P(Fragments, MakeTheHeapsThatWereCut) {
    Reassembling rig;
    std::mt19937 random(3);
    std::uint64_t sent = 0;
    std::uint64_t bytes = 0;
    std::uint64_t datagrams = 0;
    std::uint32_t id = 0;
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++) {
        for (const Bytes& f : frames(long_heap(cnt), GetParam())) {
            std::vector<Bytes> pieces = fragments_of(f, ++id, 1048 + 8 * (random() % 55));
            if (cnt % 2 == 0)
                std::shuffle(pieces.begin(), pieces.end(), random);
            rig.give(pieces);
            sent += pieces.size();
            bytes += size_of(pieces);
            datagrams++;
        }
        const std::vector<Taken> heaps = rig.take();
        ASSERT_EQ(heaps.size(), 1U);
        ASSERT_TRUE(is_whole(heaps[0], long_heap(cnt)));
        ASSERT_EQ(heaps[0].items.size(), 2U);
    }
    EXPECT_EQ(rig.count(PortOutcome::stream), datagrams);
    EXPECT_EQ(rig.count(PortOutcome::reassembled), sent - datagrams);
    EXPECT_EQ(rig.picture().ports[0].rx_packets, sent);
    EXPECT_EQ(rig.bytes(), bytes);
    EXPECT_EQ(rig.reassembly().datagrams, datagrams);
    EXPECT_EQ(rig.reassembly().given_up, 0U);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(rig.picture().ports[0].rx_oversized_frames, 0U);
}

TEST_P(Fragments, OfManyDatagramsInterleave) {
    Reassembling rig;
    std::mt19937 random(4);
    std::vector<Bytes> all;
    std::uint32_t id = 0;
    for (std::uint64_t cnt = 1; cnt <= 3; cnt++)
        for (const Bytes& f : frames(long_heap(cnt), GetParam()))
            for (Bytes& piece : fragments_of(f, ++id))
                all.push_back(std::move(piece));
    ASSERT_LE(id, 16U);
    std::shuffle(all.begin(), all.end(), random);
    rig.give(all);
    EXPECT_EQ(rig.take().size(), 3U);
    EXPECT_EQ(rig.ended(HeapEnd::complete), 3U);
    EXPECT_EQ(rig.reassembly().datagrams, id);
}

TEST_P(Fragments, SplitHeadersAndItemPointersAreRead) {
    Reassembling rig;
    std::uint64_t cnt = 0;
    for (std::size_t at = 8; at <= 160; at += 8) {
        const MadeHeap heap{.cnt = ++cnt, .length = 1500, .packet = 1500, .items = long_heap(cnt).items};
        const Bytes f = frames(heap, GetParam()).front();
        const std::size_t length = f.size() - (GetParam() ? 54 : 34);
        // In three, the first two of which end at every place of the headers.
        rig.give(cut(f, static_cast<std::uint32_t>(cnt),
                     {{at, at + 8, true}, {at + 8, length, false}, {0, at, true}}));
        const std::vector<Taken> heaps = rig.take();
        ASSERT_EQ(heaps.size(), 1U) << at;
        ASSERT_TRUE(is_whole(heaps[0], heap)) << at;
        ASSERT_EQ(heaps[0].items.size(), 2U) << at;
    }
}

TEST_P(Fragments, DuplicatesCountAsRefused) {
    Reassembling rig;
    const std::vector<Bytes> pieces = fragments_of(frames(long_heap(1), GetParam()).front(), 9);
    for (const Bytes& piece : pieces) {
        rig.give(piece);
        rig.give(piece);
    }
    EXPECT_EQ(rig.count(PortOutcome::stream), 1U);
    EXPECT_EQ(rig.count(PortOutcome::reassembled), pieces.size() - 1);
    EXPECT_EQ(rig.count(PortOutcome::fragment), pieces.size());
    EXPECT_EQ(rig.bytes(), 2 * size_of(pieces));
}

TEST_P(Fragments, WithoutOneTheOthersAreIncomplete) {
    Reassembling rig;
    const std::vector<Bytes> pieces = fragments_of(frames(long_heap(1), GetParam()).front(), 9);
    std::uint64_t given = 0;
    for (std::size_t lost = 0; lost < pieces.size(); lost++) {
        std::vector<Bytes> rest = pieces;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(lost));
        rig.give(rest);
        EXPECT_EQ(rig.reassembly().held_now, rest.size());
        EXPECT_EQ(rig.pool.in_use(), rest.size());
        EXPECT_EQ(rig.bytes(), given) << "they are counted nowhere yet";
        rig.wait();
        given += size_of(rest);
        EXPECT_EQ(rig.bytes(), given);
        EXPECT_EQ(rig.pool.in_use(), 0U);
        EXPECT_EQ(rig.reassembly().given_up, lost + 1);
    }
    EXPECT_EQ(rig.count(PortOutcome::incomplete), pieces.size() * (pieces.size() - 1));
    EXPECT_EQ(rig.others(PortOutcome::incomplete), 0U);
}

TEST_P(Fragments, TheEndGivesUpWhatIsHeld) {
    Reassembling rig;
    std::vector<Bytes> pieces = fragments_of(frames(long_heap(1), GetParam()).front(), 9);
    pieces.pop_back();
    rig.give(pieces);
    EXPECT_TRUE(rig.agent.flush());
    EXPECT_EQ(rig.count(PortOutcome::incomplete), pieces.size());
    EXPECT_EQ(rig.pool.in_use(), 0U);
}

TEST_P(Fragments, ThatOverlapCostTheDatagram) {
    Reassembling rig;
    const Bytes f = frames(long_heap(1), GetParam()).front();
    rig.give(cut(f, 5, {{0, 1480, true}, {1480, 2960, true}, {1472, 2960, true}, {2960, 3960, false}}));
    EXPECT_EQ(rig.count(PortOutcome::incomplete), 2U);
    EXPECT_EQ(rig.count(PortOutcome::fragment), 2U) << "the one that overlaps, and what comes later";
    EXPECT_EQ(rig.reassembly().conflicting, 1U);
    EXPECT_EQ(rig.reassembly().given_up, 1U);
    EXPECT_EQ(rig.pool.in_use(), 0U);
}

TEST_P(Fragments, NineAreTooMany) {
    Reassembling rig;
    const Bytes f = frames(long_heap(1), GetParam()).front();
    rig.give(fragments_of(f, 5, 1032));
    EXPECT_EQ(rig.count(PortOutcome::stream), 1U);
    const std::vector<Bytes> nine = fragments_of(f, 6, 920);
    ASSERT_EQ(nine.size(), 9U);
    rig.give(nine);
    EXPECT_EQ(rig.count(PortOutcome::stream), 1U);
    EXPECT_EQ(rig.count(PortOutcome::incomplete) + rig.count(PortOutcome::fragment), 9U);
    EXPECT_EQ(rig.reassembly().too_many, 1U);
    EXPECT_EQ(rig.pool.in_use(), 0U);
}

TEST_P(Fragments, AWrongUdpChecksumIsOneOfTheDatagram) {
    Reassembling rig;
    Bytes f = frames(long_heap(1), GetParam()).front();
    f.back() ^= 1;
    const std::vector<Bytes> pieces = fragments_of(f, 9);
    rig.give(pieces);
    EXPECT_EQ(rig.count(PortOutcome::bad_checksum), 1U);
    EXPECT_EQ(rig.count(PortOutcome::reassembled), pieces.size() - 1);
    EXPECT_EQ(rig.bytes(), size_of(pieces));
}

TEST_P(Fragments, OfNoStreamTakeNoPlace) {
    Reassembling rig;
    Bytes f = frames(long_heap(1), GetParam()).front();
    store_be16(&f[f.size() - load_be16(&f[(GetParam() ? 54 : 34) + 4]) + 2], 7149);  // another port
    std::vector<Bytes> pieces = fragments_of(f, 9);
    rig.give(pieces);
    pieces = fragments_of(f, 10);
    std::reverse(pieces.begin(), pieces.end());
    rig.give(pieces);
    EXPECT_EQ(rig.count(PortOutcome::fragment), 2 * pieces.size());
    EXPECT_EQ(rig.reassembly().given_up, 0U) << "nobody missed them";
    EXPECT_EQ(rig.pool.in_use(), 0U);
}

TEST_P(Fragments, ThatComeInSegmentsAreRefused) {
    Reassembling rig;
    for (const Bytes& piece : fragments_of(frames(long_heap(1), GetParam()).front(), 9))
        rig.queue().add(rig.queue().chain(piece, {60}));
    rig.poll_all();
    EXPECT_EQ(rig.others(PortOutcome::fragment), 0U);
}

TEST_P(Fragments, PaddingIsCutOff) {
    Reassembling rig;
    const MadeHeap heap{.cnt = 1, .length = 1400, .packet = 1400};
    std::vector<Bytes> pieces = fragments_of(frames(heap, GetParam()).front(), 9, 1440);
    for (Bytes& piece : pieces)
        piece.resize(piece.size() + 13, 0xEE);
    ASSERT_GE(pieces.size(), 2U);
    rig.give(pieces);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], heap));
    EXPECT_EQ(rig.bytes(), size_of(pieces));
}

INSTANTIATE_TEST_SUITE_P(Of, Fragments, testing::Bool(),
                         [](const auto& of) { return std::string(of.param ? "Ipv6" : "Ipv4"); });

TEST(FragmentsOfOthers, ToAnAddressOfNoEndpointAreRefusedAtOnce) {
    Reassembling rig;
    const std::vector<Bytes> pieces =
        fragments_of(frames(long_heap(1), false, {.to = 0xEF010204}).front(), 9);
    rig.give(pieces[1]);
    EXPECT_EQ(rig.count(PortOutcome::fragment), 1U);
    EXPECT_EQ(rig.reassembly().held_now, 0U);
}

TEST(FragmentsOfOthers, FromASourceThatNoEndpointNamesAreRefused) {
    Reassembling rig(64, lane_config("s0", {{{0xEF010203}, 7148, {0x0A000007}}}));
    rig.give(fragments_of(frames(long_heap(1), false, {.from = 0x0A000008}).front(), 9));
    EXPECT_EQ(rig.others(PortOutcome::fragment), 0U);
    rig.give(fragments_of(frames(long_heap(1), false).front(), 9));
    EXPECT_EQ(rig.count(PortOutcome::stream), 1U);
}

TEST(FragmentsThatNobodyPutsTogether, AreWantedIfAnyLcoreOfTheirQueueHasTheirStream) {
    Reassembling rig;
    rig.source().reassembler.reset();
    rig.give(fragments_of(frames(long_heap(1), false).front(), 9));
    const std::uint64_t wanted = rig.reassembly().wanted;
    EXPECT_EQ(wanted, rig.source().counters[PortOutcome::fragment]);
    EXPECT_GT(wanted, 1U);
    const std::vector<Bytes> others =
        fragments_of(frames(long_heap(1), false, {.to = 0xEF010204}).front(), 9);
    rig.give(others);
    EXPECT_EQ(rig.reassembly().wanted, wanted) << "no stream of this lcore";
    Classifier all;
    all.add({{0xEF010204}, 7148, {}}, {0, 0});
    rig.source().all_endpoints = &all;
    rig.give(others);
    EXPECT_EQ(rig.reassembly().wanted, wanted + others.size());
    rig.source().all_endpoints = nullptr;
}

/// Lets the lcore that polls a shared queue see the fragments for the other lcore's stream.
TEST(FragmentsThatNobodyPutsTogether, AreWantedBehindADistributorAsItsTableSays) {
    Reassembling rig;
    rig.source().reassembler.reset();
    Distributor distributor(1);
    distributor.table().add(one_group().front(), {0});
    distributor.table().add({{0xEF010204}, Way{}.port, {}}, {1});
    distributor.connect(rig.queue().queue());
    rig.source().queue = distributor.own();
    rig.source().all_endpoints = &distributor.endpoints();
    std::uint64_t wanted = 0;
    for (const std::uint32_t to : {0xEF010203U, 0xEF010204U, 0xEF010205U}) {
        const std::vector<Bytes> pieces = fragments_of(frames(long_heap(1), false, {.to = to}).front(), 9);
        rig.give(pieces);
        wanted += to == 0xEF010205 ? 0 : pieces.size();
        EXPECT_EQ(rig.reassembly().wanted, wanted) << to;
    }
    EXPECT_GT(rig.count(PortOutcome::fragment), wanted);
    Distributor::Table fresh;
    fresh.add({{0xEF010205}, Way{}.port, {}}, {1});
    distributor.exchange(fresh);
    for (const std::uint32_t to : {0xEF010204U, 0xEF010205U}) {
        const std::vector<Bytes> pieces = fragments_of(frames(long_heap(1), false, {.to = to}).front(), 9);
        rig.give(pieces);
        wanted += to == 0xEF010205 ? pieces.size() : 0;
        EXPECT_EQ(rig.reassembly().wanted, wanted) << to << " after a change";
    }
    rig.source().queue = rig.queue().queue();
    rig.source().all_endpoints = nullptr;
}

TEST(FragmentsOfOthers, WithAWrongHeaderChecksumAreNoFragments) {
    Reassembling rig;
    Bytes piece = fragments_of(frames(long_heap(1), false).front(), 9)[1];
    piece[24] ^= 1;
    rig.give(piece);
    EXPECT_EQ(rig.count(PortOutcome::bad_checksum), 1U);
}

/// Lets a datagram wait for room in the window of a stream that may lose nothing.
TEST(WaitingDatagrams, AreTakenByteForByte) {
    constexpr std::size_t kKiB = 1024;
    LaneConfig config = lane_config("s0", one_group());
    config.window.on_full = heap::FullPolicy::block;
    config.window.max_heap_bytes = 64 * kKiB;
    Rig rig(128 * kKiB, 64 * kKiB, 2047, 9600);
    rig.add_source();
    rig.add_lane(0, config);
    Source& source = *rig.sources[0];
    source.reassembler = std::make_unique<Reassembler>(16, SOCKET_ID_ANY, "test");
    std::vector<heap::HeapHandle> held;
    for (const std::size_t length : {60'000U, 100U}) {
        rig.give(MadeHeap{.cnt = 1000 + held.size(), .length = length, .packet = 8000}.frames());
        held.push_back(rig.lane().queue.try_pop());
        ASSERT_TRUE(held.back());
    }
    const MadeHeap large{.cnt = 2, .length = 40'000, .packet = 8000};
    std::uint32_t id = 0;
    for (const Bytes& f : large.frames())
        rig.queue().add(fragments_of(with_udp_sum(f), ++id));
    for (int i = 0; i < 5; i++)
        rig.poll();
    ASSERT_NE(source.waiting.count, 0U);
    EXPECT_EQ(source.waiting.mbufs[0]->nb_segs, 6U) << "the datagram waits, not its fragment";
    held.clear();
    rig.poll_all();
    const std::vector<Taken> all = rig.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(is_whole(all[0], large));
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(source.counters.reassembly.datagrams, id);
}

/// Floods the source with first fragments of one host, while another one sends heaps.
TEST(FragmentFlood, OfOneSenderHurtsItselfAlone) {
    Reassembling rig(16);
    std::uint32_t id = 0;
    const Bytes other = frames(long_heap(1), false, {.from = 0x0A00000B}).front();
    for (std::uint64_t cnt = 1; cnt <= 20; cnt++) {
        std::vector<Bytes> all;
        for (const Bytes& f : frames(long_heap(cnt), false))
            for (const Bytes& piece : fragments_of(f, ++id)) {
                all.push_back(piece);
                for (int i = 0; i < 40; i++)
                    all.push_back(cut(other, ++id * 7, {{0, 64, true}}).front());
            }
        rig.give(all);
        EXPECT_LE(rig.pool.in_use(), 16 * port::kMostFragments);
        const std::vector<Taken> heaps = rig.take();
        ASSERT_EQ(heaps.size(), 1U);
        ASSERT_TRUE(is_whole(heaps[0], long_heap(cnt)));
    }
    EXPECT_GT(rig.reassembly().given_up, 20'000U);
    EXPECT_LE(rig.reassembly().crowded_out, 100U) << "one for each datagram of the other sender";
    EXPECT_LE(rig.reassembly().held_now, 16U);
}

TEST(FragmentFlood, OfForgedSourcesHoldsNoMoreThanThePlacesTake) {
    Reassembling rig(64);
    for (std::uint32_t i = 0; i < 800; i++) {
        const Bytes f = frames(long_heap(1), false, {.from = 0x0B000000 + i}).front();
        std::vector<Bytes> seven = fragments_of(f, i, 1032);
        seven.pop_back();
        rig.give(seven);
        ASSERT_LE(rig.pool.in_use(), 64 * port::kMostFragments);
    }
    rig.wait();
    EXPECT_EQ(rig.pool.in_use(), 0U);
    EXPECT_EQ(rig.others(PortOutcome::incomplete), 0U);
}

}  // namespace
}  // namespace spead::recv::test
