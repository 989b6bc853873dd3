// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_lane.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/unit/chunk/tracked_rig.hpp"

/// Tests how a lane finds its way: direct while every packet tells, tracked when only the first ones do.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

/// Holds a lane for heaps of 2048 bytes, four to a chunk.
struct LaneRig {
    explicit LaneRig(const std::string& more = "", const heap::WindowConfig& heaps = tracked_window())
        : placement(Placement::parse("heap 2048; time: item 0x1600 [4]; extra u16: item 0x3102" + more)),
          layout(placement.check()),
          chunks(4, layout),
          window(TrackedRig::config({.window = 2}), chunks.ring),
          lane(placement, window, counters, false, heaps) {}

    PacketOutcome give(const Packet& p) {
        const auto before = counters.packets;
        const ChunkLane::Accepted a = lane.accept(p.view(), 0, true);
        if (a.verdict == ChunkLane::Verdict::copy)
            std::memcpy(*a.base + a.offset, p.payload().data(), p.payload().size());
        lane.boundary();
        for (std::size_t i = 0; i < before.size(); i++)
            if (counters.packets[i] != before[i])
                return static_cast<PacketOutcome>(i);
        return count_;
    }

    Placement placement;
    Layout layout;
    RingOfChunks chunks;
    ChunkWindow window;
    stats::StreamCounters counters;
    ChunkLane lane;
};

Packet part(std::uint64_t n, std::uint64_t at, bool tells) {
    Packet p(n);
    p.of(2048).at(at, 512).time(n + 1);
    if (tells)
        p.items({immediate(0x1600, n), immediate(0x3102, n + 7)});
    return p;
}

void expect_heap(const Chunk& chunk, std::uint64_t n) {
    for (std::uint64_t i = 0; i < 2048; i++)
        ASSERT_EQ(chunk.data[n % 4 * 2048 + i], std::byte{heap::test::pattern(n, i)}) << n << " " << i;
    std::uint16_t extra = 0;
    std::memcpy(&extra, &chunk.extra[n % 4 * 2], 2);
    EXPECT_EQ(extra, n + 7);
}

TEST(ChunkLane, GoesTheDirectWayWhileEveryPacketTells) {
    LaneRig rig;
    for (std::uint64_t n = 0; n < 8; n++)
        for (std::uint64_t at = 0; at < 2048; at += 512)
            EXPECT_EQ(rig.give(part(n, at, true)), placed);
    EXPECT_FALSE(rig.lane.tracks());
    EXPECT_EQ(rig.counters.heaps_started, 0U) << "there is no table of heaps";
    rig.lane.leave();
    for (std::uint64_t id = 0; id < 2; id++) {
        const Chunk* const chunk = rig.chunks.ring.take();
        EXPECT_TRUE(chunk->complete());
        for (std::uint64_t n = 0; n < 4; n++)
            expect_heap(*chunk, id * 4 + n);
    }
}

TEST(ChunkLane, OneThatComesLaterKnowsTheWay) {
    LaneRig rig;
    rig.give(part(0, 0, true));
    rig.give(part(0, 512, false));
    ASSERT_TRUE(rig.lane.tracks());
    stats::StreamCounters counters;
    ChunkLane later(rig.placement, rig.window, counters, false, tracked_window());
    EXPECT_TRUE(later.tracks());
    EXPECT_EQ(counters.goes_tracked, 1U);
    for (std::uint64_t at = 0; at < 2048; at += 512) {
        EXPECT_EQ(later.accept(part(1, at, at == 0).view(), 0, true).outcome, placed);
        later.boundary();
    }
    EXPECT_EQ(counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
}

TEST(ChunkLane, GoesOverToTheTrackedWayWhenAPacketTellsNothing) {
    LaneRig rig;
    EXPECT_EQ(rig.give(part(0, 0, true)), placed);
    EXPECT_EQ(rig.give(part(0, 512, false)), no_item) << "its first packet was nobody's to remember";
    EXPECT_TRUE(rig.lane.tracks());
    for (std::uint64_t n = 1; n < 8; n++)
        for (std::uint64_t at = 0; at < 2048; at += 512)
            EXPECT_EQ(rig.give(part(n, at, at == 0)), placed);
    rig.lane.leave();
    const Chunk* const first = rig.chunks.ring.take();
    EXPECT_EQ(first->heaps_present, 3U);
    EXPECT_EQ(first->packets, 13U);
    EXPECT_EQ(first->bytes, 13U * 512);
    for (std::uint64_t n = 1; n < 4; n++)
        expect_heap(*first, n);
    EXPECT_TRUE(rig.chunks.ring.take()->complete());
    EXPECT_EQ(rig.counters.bytes, 29U * 512);
}

/// Lets two senders with another time each be there when the lane begins.
TEST(ChunkLane, HeapsThatASenderAheadSentBeforeAreCutAndNotMissing) {
    for (const char* way : {"; direct", "; tracked"}) {
        for (const std::uint64_t ahead : {4, 6}) {
            LaneRig rig(way);
            const auto give = [&](std::uint64_t n, std::uint32_t source) {
                for (std::uint64_t at = 0; at < 2048; at += 512)
                    EXPECT_EQ(rig.give(part(n, at, true).from(source)), placed) << way << n;
            };
            give(2, 1);
            give(ahead, 2);
            for (std::uint64_t n = 8; n < 16; n++)
                give(n, 1);
            EXPECT_EQ(rig.chunks.ring.take()->id, 0);
            const Chunk* const second = rig.chunks.ring.take();
            ASSERT_NE(second, nullptr);
            EXPECT_EQ(second->id, 1);
            EXPECT_EQ(second->cut, ahead != 4) << way;
            rig.lane.leave();
        }
    }
}

/// Lets the first packet of the sender ahead be in the middle of the chunk's first heap.
TEST(ChunkLane, TheFirstHeapOfAChunkMayHaveBegunBefore) {
    LaneRig rig("; direct");
    EXPECT_EQ(rig.give(part(2, 0, true)), placed);
    EXPECT_EQ(rig.give(part(2, 512, true)), placed);
    EXPECT_EQ(rig.give(part(4, 1024, true).from(2)), placed);
    EXPECT_EQ(rig.give(part(12, 0, true)), placed);
    EXPECT_EQ(rig.chunks.ring.take()->id, 0);
    const Chunk* const second = rig.chunks.ring.take();
    ASSERT_NE(second, nullptr);
    EXPECT_TRUE(second->cut);
    rig.lane.leave();
}

/// Lets the network lose, or delay, what the second chunk of the only sender begins with.
TEST(ChunkLane, AChunkWhoseFirstPacketWasLostIsWholeWhereItsSenderCameBefore) {
    for (const char* way : {"; direct", "; tracked"}) {
        LaneRig rig(way);
        const auto give = [&](std::uint64_t n) {
            for (std::uint64_t at = 0; at < 2048; at += 512)
                EXPECT_EQ(rig.give(part(n, at, true)), placed) << way << n;
        };
        give(2);
        give(3);
        EXPECT_EQ(rig.give(part(5, 512, true)), placed);
        EXPECT_EQ(rig.give(part(4, 0, true)), placed) << "it comes late";
        for (std::uint64_t n = 8; n < 16; n++)
            give(n);
        EXPECT_TRUE(rig.chunks.ring.take()->cut) << "the window began inside of it";
        const Chunk* const second = rig.chunks.ring.take();
        ASSERT_NE(second, nullptr);
        EXPECT_EQ(second->id, 1);
        EXPECT_FALSE(second->cut) << way;
        rig.lane.leave();
    }
}

/// Lets two senders have a place each, so that the place says who lost the first packet of a chunk, and who
/// was ahead.
TEST(ChunkLane, SendersAheadAreKnownByTheirPlaces) {
    for (const bool ahead : {false, true}) {
        const Placement placement =
            Placement::parse("heap 512; time: item 0x1600 [4]; axis pol: item 0x1601 [2]");
        RingOfChunks chunks(4, placement.check());
        ChunkWindow window(TrackedRig::config({.window = 2}), chunks.ring);
        stats::StreamCounters counters;
        ChunkLane lane(placement, window, counters, false, tracked_window());
        const auto give = [&](std::uint64_t time, std::uint64_t pol) {
            Packet p(time * 2 + pol);
            p.whole(512).time(time + 1).items({immediate(0x1600, time), immediate(0x1601, pol)});
            EXPECT_EQ(lane.accept(p.view(), 0, true).outcome, placed);
            lane.boundary();
        };
        give(2, 0);
        give(3, 0);
        if (!ahead)
            give(3, 1);
        give(5, 1);
        for (std::uint64_t time = 8; time < 16; time++)
            give(time, 0);
        EXPECT_TRUE(chunks.ring.take()->cut);
        EXPECT_EQ(chunks.ring.take()->cut, ahead);
        lane.leave();
    }
}

TEST(ChunkLane, StaysInTheDirectWayIfThatIsDeclared) {
    LaneRig rig("; direct");
    EXPECT_EQ(rig.give(part(0, 0, true)), placed);
    EXPECT_EQ(rig.give(part(0, 512, false)), no_item);
    EXPECT_FALSE(rig.lane.tracks());
    rig.lane.leave();
}

TEST(ChunkLane, GoesTheTrackedWayFromTheStartIfThatIsDeclared) {
    LaneRig rig("; tracked");
    EXPECT_TRUE(rig.lane.tracks());
    for (std::uint64_t at = 0; at < 2048; at += 512)
        EXPECT_EQ(rig.give(part(9, at, at == 0)), placed);
    EXPECT_EQ(rig.give(part(10, 0, true)), placed);
    rig.lane.offline();
    EXPECT_EQ(rig.give(part(10, 512, false)), placed);
    rig.lane.stop();
    EXPECT_EQ(rig.give(part(10, 1024, false)), stopped);
    const Chunk* const chunk = rig.chunks.ring.take();
    ASSERT_NE(chunk, nullptr) << "with the last lane the chunks leave";
    EXPECT_EQ(chunk->id, 2);
    EXPECT_EQ(chunk->heaps_present, 1U);
    expect_heap(*chunk, 9);
}

TEST(ChunkLane, TellsItsWayAsSoonAsPacketsHaveDecidedIt) {
    const auto way_of = [](const LaneRig& rig) {
        return std::pair{rig.counters.goes_direct, rig.counters.goes_tracked};
    };
    constexpr std::pair undecided{0UL, 0UL}, direct{1UL, 0UL}, tracked{0UL, 1UL};
    {
        LaneRig rig;
        EXPECT_EQ(way_of(rig), undecided);
        EXPECT_EQ(rig.give(part(0, 0, true)), placed);
        EXPECT_EQ(way_of(rig), undecided) << "any heap begins like this";
        EXPECT_EQ(rig.give(part(0, 512, true)), placed);
        EXPECT_EQ(way_of(rig), direct);
        rig.lane.leave();
    }
    {
        LaneRig rig;
        EXPECT_EQ(rig.give(part(0, 0, true)), placed);
        EXPECT_EQ(rig.give(part(0, 512, false)), no_item);
        EXPECT_EQ(way_of(rig), tracked);
        rig.lane.leave();
    }
    EXPECT_EQ(way_of(LaneRig("; direct")), direct);
    EXPECT_EQ(way_of(LaneRig("; tracked")), tracked);
}

// Without the item of an axis in the placement, two heaps of each time have the same place.
TEST(ChunkLane, ASecondHeapWithAPlaceIsADuplicateInTheTrackedWay) {
    LaneRig rig("; tracked; presence packet 512");
    const auto other = [](std::uint64_t n, std::uint64_t at) {
        Packet p(n + 100);
        p.of(2048).at(at, 512).time(n + 100);
        if (at == 0)
            p.items({immediate(0x1600, n), immediate(0x3102, n + 7)});
        return p;
    };
    for (std::uint64_t at = 0; at < 2048; at += 512)
        EXPECT_EQ(rig.give(part(1, at, at == 0)), placed);
    for (std::uint64_t at = 0; at < 2048; at += 512)
        EXPECT_EQ(rig.give(other(1, at)), duplicate) << at;
    // The place is taken by a part of a heap, too.
    EXPECT_EQ(rig.give(part(2, 0, true)), placed);
    rig.lane.expire(1000);
    EXPECT_EQ(rig.give(other(2, 0)), duplicate);
    EXPECT_EQ(rig.give(part(2, 512, false)), placed) << "the first one goes on";
    rig.lane.leave();
    const Chunk* const chunk = rig.chunks.ring.take();
    expect_heap(*chunk, 1);
    EXPECT_EQ(chunk->packets, 6U);
}

TEST(ChunkLane, CountsAStopInAPacketWithData) {
    for (const char* const way : {"; direct", "; tracked"}) {
        LaneRig rig(way);
        EXPECT_EQ(rig.give(part(0, 0, true)), placed);
        Packet last = part(0, 512, true);
        last.stop();
        EXPECT_EQ(rig.give(last), placed);
        EXPECT_EQ(rig.counters.stop_items, 1U) << way;
        rig.lane.leave();
    }
}

TEST(ChunkLane, TakesPacketsInAnyOrderWhateverHeapsWouldDo) {
    heap::WindowConfig heaps = tracked_window();
    heaps.in_order = true;
    LaneRig rig("; tracked", heaps);
    EXPECT_EQ(rig.give(part(0, 0, true)), placed);
    EXPECT_EQ(rig.give(part(0, 1024, false)), placed);
    EXPECT_EQ(rig.give(part(0, 512, false)), placed);
    rig.lane.leave();
}

// Times wrap in the middle of chunks; half of the packets of a time come after the next one.
TEST(ChunkLane, GoesOnAcrossWrapsInTheMiddleOfChunks) {
    const Placement placement =
        Placement::parse("heap 64; time: item 0x1600 [6]; axis a: item 0x4101 [2]; wrap 4; direct");
    const Layout layout = placement.check();
    RingOfChunks chunks(4, layout);
    ChunkWindow window(TrackedRig::config({.window = 2}), chunks.ring);
    stats::StreamCounters counters;
    std::uint64_t taken = 0;
    const auto take_all = [&] {
        while (Chunk* const chunk = chunks.ring.take()) {
            EXPECT_EQ(chunk->id, static_cast<std::int64_t>(taken++));
            EXPECT_TRUE(chunk->complete()) << chunk->id;
            EXPECT_EQ(chunk->packets, 12U);
            EXPECT_EQ(chunk->bytes, 12U * 64);
            chunks.ring.give_back(*chunk);
        }
    };
    {
        ChunkLane lane(placement, window, counters, false);
        lane.boundary();
        const auto give = [&](std::uint64_t time, std::uint64_t a) {
            Packet p(time * 2 + a);
            p.of(64).at(0, 64).time(time + 1).items({immediate(0x1600, time % 16), immediate(0x4101, a)});
            const ChunkLane::Accepted got = lane.accept(p.view(), 0, true);
            ASSERT_EQ(got.verdict, ChunkLane::Verdict::copy) << time << " " << a;
            ASSERT_EQ(got.offset, (time % 6 * 2 + a) * 64) << time << " " << a;
        };
        for (std::uint64_t time = 0; time < 600; time++) {
            give(time, time % 2);
            if (time > 0)
                give(time - 1, time % 2);
            if (time % 3 == 0)
                lane.boundary();
            take_all();
        }
        give(599, 0);
        lane.boundary();
        lane.leave();
    }
    take_all();
    EXPECT_EQ(taken, 100U);
    EXPECT_EQ(counters[placed], 1200U);
    EXPECT_EQ(counters.bytes, 1200U * 64);
}

TEST(ChunkLane, CountsDuplicatesAndStopsInTheMiddleOfARun) {
    LaneRig rig("; direct");
    for (std::uint64_t n = 0; n < 3; n++)
        for (std::uint64_t at = 0; at < 2048; at += 512)
            EXPECT_EQ(rig.give(part(n, at, true)), placed);
    EXPECT_EQ(rig.give(part(2, 512, true)), duplicate);
    EXPECT_EQ(rig.give(part(3, 512, true)), placed);
    EXPECT_EQ(rig.give(part(3, 700, true)), inconsistent);
    rig.lane.offline();
    EXPECT_EQ(rig.give(part(3, 0, true)), placed);
    rig.lane.stop();
    EXPECT_EQ(rig.give(part(3, 1024, true)), stopped);
}

TEST(ChunkLane, PlacesRowsInTheTrackedWay) {
    LaneRig rig("; rows 512 by 2048; tracked");
    const Packet p = part(1, 512, true);
    const ChunkLane::Accepted a = rig.lane.accept(p.view(), 0, true);
    ASSERT_EQ(a.verdict, ChunkLane::Verdict::copy);
    EXPECT_EQ(a.offset, 0U) << "that of the heap's first byte";
    EXPECT_EQ(rig.lane.rows().bytes, 512U);
    rig.lane.boundary();
    rig.lane.leave();
}

TEST(ChunkLane, NamesTheSourcesOfPacketsWithoutAChunk) {
    LaneRig rig;
    for (std::uint64_t n = 0; n < 40; n++)
        rig.give(part(n, 0, true));
    Packet old = part(1, 0, true);
    old.from(0x0A000007);
    EXPECT_EQ(rig.give(old), late);
    EXPECT_EQ(rig.counters.late_sources.sorted()[0], (stats::FewSources::Source{0x0A000007, 1}));
    EXPECT_EQ(rig.counters.future_sources.sorted()[0].count, 0U);
}

TEST(ChunkLane, KeepsTheSizesOfAPacketThatIsCutOtherwise) {
    LaneRig rig;
    rig.give(part(0, 0, true));
    rig.give(part(0, 512, true));
    Packet odd(1);
    odd.of(2048).at(0, 1024).items({immediate(0x1600, 1), immediate(0x3102, 8)});
    EXPECT_EQ(rig.give(odd), inconsistent);
    EXPECT_EQ(rig.counters.odd_packet, 1024U);
    EXPECT_EQ(rig.counters.usual_packet, 512U);
}

}  // namespace
}  // namespace spead::chunk::test
