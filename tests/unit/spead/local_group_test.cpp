// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "spead/chunk.hpp"
#include "spead/readers.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests groups of streams without EAL, each of which has one sender of the chunks' two.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using recv::test::Bytes;
using recv::test::MadeHeap;

constexpr std::size_t kMemberHeap = 400;
constexpr std::uint64_t kMemberTimes = 4;

Placement group_placement() {
    Placement p(kMemberHeap);
    p.axis("sender", item(0x4101), 2).time(item(0x1600), kMemberTimes);
    return p;
}

/// Returns the one datagram of a heap.
Bytes member_datagram(std::uint64_t time, std::uint64_t sender) {
    MadeHeap heap{.cnt = 1 + time * 2 + sender, .length = kMemberHeap, .packet = kMemberHeap};
    heap.items = {heap.flavour.make_immediate(0x1600, time), heap.flavour.make_immediate(0x4101, sender)};
    return heap.datagram(0, kMemberHeap, true);
}

/// Holds a group of two streams, with a queue each.
struct Pair {
    explicit Pair(const ChunkConfig& config, std::size_t chunks = 4)
        : ring(made_ring(chunks)), group(group_placement(), ring, config) {
        for (std::size_t i = 0; i < 2; i++)
            streams.push_back(group.add({}, Reader::queue(queues[i])));
    }
    static ChunkRing made_ring(std::size_t chunks) {
        ChunkRing made(chunks);
        made.add(group_placement(), chunks);
        return made;
    }

    /// Pushes a sender's heaps of the chunks [first, end).
    void push(std::size_t sender, std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t t = first * kMemberTimes; t < end * kMemberTimes; t++) {
            const Bytes d = member_datagram(t, sender);
            ASSERT_TRUE(queues[sender].push({reinterpret_cast<const std::byte*>(d.data()), d.size()}));
        }
    }
    void wait_for_placed(std::size_t sender, std::uint64_t packets) const {
        while (streams[sender].stats().packets_placed < packets)
            std::this_thread::sleep_for(1ms);
    }
    /// Takes the chunks [first, end), with so many heaps each.
    void take(std::int64_t first, std::int64_t end, std::uint64_t heaps) {
        for (std::int64_t id = first; id < end; id++) {
            const ChunkPtr chunk = ring.get_for(60s);
            ASSERT_TRUE(chunk) << id;
            EXPECT_EQ(chunk->id, id);
            EXPECT_EQ(chunk->heaps_present, heaps) << id;
        }
    }

    std::array<InprocQueue, 2> queues;
    ChunkRing ring;
    ChunkStreamGroup group;
    std::vector<ChunkStream> streams;
};

constexpr ChunkConfig kLossless{.eviction = Eviction::lossless, .patience = 0ns};

TEST(LocalGroup, WaitsForTheStreamThatLags) {
    Pair p(kLossless);
    p.push(0, 0, 1);
    EXPECT_EQ(p.streams[0].stats().packets, 0U) << "nothing has started";
    p.group.start();
    p.push(0, 1, 12);
    // It has filled the window, and waits there.
    p.wait_for_placed(0, 2 * kMemberTimes);
    EXPECT_FALSE(p.ring.try_get());
    std::thread lagging([&] {
        p.push(1, 0, 12);
        p.queues[0].stop();
        p.queues[1].stop();
    });
    p.take(0, 12, 2 * kMemberTimes);
    EXPECT_FALSE(p.ring.get_for(60s));
    lagging.join();
    EXPECT_TRUE(p.ring.ended());
    for (const ChunkStream& stream : p.streams) {
        const ChunkStats s = stream.stats();
        EXPECT_EQ(s.packets, 12 * kMemberTimes);
        EXPECT_EQ(s.packets_placed, s.packets);
        EXPECT_EQ(s.chunks_handed_over, 12U) << "the group's";
        EXPECT_EQ(s.chunks_taken, 12U);
    }
    EXPECT_EQ(rte_get_tsc_hz(), 0U) << "EAL was started";
}

TEST(LocalGroup, DoesNotWaitIfItMayLose) {
    Pair p({.eviction = Eviction::lossy});
    p.group.start();
    p.push(0, 0, 12);
    // Two are open at its end.
    p.take(0, 10, kMemberTimes);
    p.push(1, 0, 12);
    p.queues[1].stop();
    p.queues[0].stop();
    p.take(10, 12, 2 * kMemberTimes);
    EXPECT_FALSE(p.ring.get_for(60s));
    EXPECT_EQ(p.streams[0].stats().packets_late, 0U);
    EXPECT_EQ(p.streams[1].stats().packets_late, 10 * kMemberTimes);
    EXPECT_EQ(p.streams[1].stats().packets_placed, 2 * kMemberTimes);
}

TEST(LocalGroup, IsNotHeldUpByAStreamThatNeverSends) {
    Pair p({.eviction = Eviction::lossy});
    p.group.start();
    p.push(0, 0, 40);
    p.take(0, 38, kMemberTimes);
    p.wait_for_placed(0, 40 * kMemberTimes);
    p.group.stop();
    p.take(38, 40, kMemberTimes);
    EXPECT_FALSE(p.ring.get_for(60s));
    EXPECT_EQ(p.streams[1].stats().packets, 0U);
}

TEST(LocalGroup, WaitsForNoStreamThatHasStopped) {
    for (const bool by_source : {false, true}) {
        Pair p(kLossless);
        p.group.start();
        p.push(0, 0, 12);
        p.push(1, 0, 1);
        p.wait_for_placed(0, 2 * kMemberTimes);
        p.wait_for_placed(1, kMemberTimes);
        if (by_source)
            p.queues[1].stop();
        else
            p.streams[1].stop();
        p.queues[0].stop();
        p.take(0, 1, 2 * kMemberTimes);
        p.take(1, 12, kMemberTimes);
        EXPECT_FALSE(p.ring.get_for(60s));
        EXPECT_EQ(p.streams[0].stats().packets_late, 0U);
    }
}

TEST(LocalGroup, StartsAgainWithANewWindow) {
    Pair p(kLossless);
    for (std::uint64_t round = 1; round <= 5; round++) {
        p.group.start();
        EXPECT_FALSE(p.ring.ended());
        // Earlier times than before are not late.
        for (std::size_t sender = 0; sender < 2; sender++)
            p.push(sender, 0, 2);
        p.wait_for_placed(0, round * 2 * kMemberTimes);
        p.wait_for_placed(1, round * 2 * kMemberTimes);
        p.group.stop();
        p.take(0, 2, 2 * kMemberTimes);
        EXPECT_FALSE(p.ring.get_for(60s));
    }
    EXPECT_EQ(p.streams[0].stats().chunks_taken, 10U);
}

TEST(LocalGroup, StreamsComeAndGo) {
    Pair p({.eviction = Eviction::lossy});
    p.group.start();
    p.push(0, 0, 4);
    p.take(0, 2, kMemberTimes);
    p.streams.pop_back();
    InprocQueue third;
    ChunkStream late = p.group.add({.name = "third"}, Reader::queue(third));
    EXPECT_EQ(late.name(), "third");
    late.start();
    const Bytes d = member_datagram(3 * kMemberTimes, 1);
    ASSERT_TRUE(third.push({reinterpret_cast<const std::byte*>(d.data()), d.size()}));
    while (late.stats().packets_placed != 1)
        std::this_thread::sleep_for(1ms);
    p.group.stop();
    p.take(2, 3, kMemberTimes);
    p.take(3, 4, kMemberTimes + 1);
    EXPECT_FALSE(p.ring.get_for(60s));
}

/// Places as group_placement() does.
void place_member(void* /*user*/, std::span<const HeapStart> heaps, std::span<HeapPlace> places) noexcept {
    for (std::size_t i = 0; i < heaps.size(); i++) {
        const auto time = static_cast<std::uint64_t>(heaps[i].values[0]);
        places[i].chunk = static_cast<std::int64_t>(time / kMemberTimes);
        places[i].heap = static_cast<std::uint64_t>(heaps[i].values[1]) * kMemberTimes + time % kMemberTimes;
        places[i].offset = places[i].heap * kMemberHeap;
    }
}

TEST(LocalGroup, AsksACallbackForSocketsOfTheKernel) {
    const ChunkSizes sizes{.heaps = 2 * kMemberTimes, .bytes = 2 * kMemberTimes * kMemberHeap};
    ChunkRing ring(3);
    ring.add(sizes, 3);
    ChunkStreamGroup group({.place = place_member, .items = {0x1600, 0x4101}, .chunk = sizes}, ring);
    std::vector<ChunkStream> streams;
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < 2; i++) {
        ports.push_back(recv::test::free_port());
        RecvConfig c;
        c.backend = Backend::kernel;
        c.interface = "lo";
        c.endpoints = {"239.255.77.21:" + std::to_string(ports[i])};
        streams.push_back(group.add(c));
    }
    group.start();
    for (std::uint64_t t = 0; t < kMemberTimes; t++)
        for (std::uint64_t sender = 0; sender < 2; sender++)
            recv::test::UdpSender({{0xEFFF4D15}, ports[sender], {}}).send(member_datagram(t, sender));
    for (const ChunkStream& stream : streams)
        while (stream.stats().packets_placed != kMemberTimes)
            std::this_thread::sleep_for(1ms);
    group.stop();
    const ChunkPtr chunk = ring.get_for(60s);
    ASSERT_TRUE(chunk);
    EXPECT_TRUE(chunk->complete());
    EXPECT_EQ(streams[0].stats().callback_heaps, kMemberTimes) << "its own";
}

TEST(LocalGroup, ChangesNothingIfAStreamCannotStart) {
    Pair p(kLossless);
    RecvConfig c;
    c.endpoints = {"239.1.2.3:7148"};
    const ChunkStream broken = p.group.add(c, Reader::pcap("/nowhere"));
    expect_passing_error([&] { p.group.start(); }, {"/nowhere"});
    p.push(0, 0, 1);
    EXPECT_EQ(p.queues[0].size(), kMemberTimes);
    EXPECT_EQ(p.ring.counts().free, 4U);
    expect_usage_error([&] { p.group.add({}); }, {"Backend::kernel"});
    Placement other(kMemberHeap);
    other.axis("sender", item(0x4101), 2).time(item(0x1600), 2);
    expect_usage_error([&] { p.group.add({}, Reader::queue(p.queues[0]), other); },
                       {"differs", "another group"});
}

}  // namespace
}  // namespace spead::test
