// SPDX-License-Identifier: BSD-3-Clause
/// Tests several lcores that fill one sequence of chunks: shuffled, lossy, doubled traffic with forged times
/// among it, on real threads that pause at any place.
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"
#include "tests/unit/chunk/group_rig.hpp"

namespace spead::chunk::group {
namespace {

using spead::test::cases;

/// Asserts that every good packet came to its chunk.
void expect_whole(const Result& r, std::uint64_t chunks) {
    expect_sound(r);
    EXPECT_EQ(r.consumer.present, r.distinct) << "all good packets";
    EXPECT_EQ(r.missed(), 0u);
    EXPECT_EQ(r.consumer.chunks, chunks);
}

TEST(ChunkGroup, FourLcoresFillTheSameChunks) {
    // No lcore lags by more than max_jump: its packets are late, and do not vote.
    for (std::uint64_t seed = 1; seed <= 2; seed++)
        expect_sound(run({.chunks = 200, .forged = 4, .max_jump = 200}, seed));
}

TEST(ChunkGroup, LosslessSourcesLoseNothing) {
    const Traffic traffic{.chunks = 60, .lcores = 3, .lost = 0, .lossless = true};
    const Result r = run(traffic, 5);
    expect_whole(r, traffic.chunks);
    EXPECT_EQ(r.distinct, traffic.chunks * kTimes * kSenders * kParts);
}

/// Returns traffic with a million forged times.
Traffic forged_million(std::size_t lcores) {
    return {.chunks = 600, .lcores = lcores, .forged = 24, .lossless = true};
}

TEST(ChunkGroup, FourLcoresWithAMillionForgedTimesMissNoGoodPacket) {
    const Traffic traffic = forged_million(4);
    const Result r = run(traffic, 6);
    EXPECT_GE(r.forged, 1'000'000u);
    expect_whole(r, traffic.chunks);
}

TEST(ChunkGroup, OneLcoreWithAMillionForgedTimesMissesNoGoodPacket) {
    const Traffic traffic = forged_million(1);
    const Result r = run(traffic, 7);
    EXPECT_GE(r.forged, 1'000'000u);
    expect_whole(r, traffic.chunks);
}

TEST(ChunkGroup, AnLcoreThatStallsLosesItsOwnPacketsAndNoChunkOfTheOthers) {
    const Traffic traffic{.chunks = 200, .stalls = true, .ring = 200, .max_jump = 200};
    const Result r = run(traffic, 8);
    expect_sound(r);
    EXPECT_EQ(r.short_of, 0u) << "there were chunks for all";
    EXPECT_GT(r.missed(), 0u) << "it came back when its chunks had left";
}

/// Copies nothing until the others have gone through all chunks.
TEST(ChunkGroup, AnLcoreWithoutItsCpuCostsTheOthersNoPacket) {
    const Traffic traffic{.chunks = cases(500), .lcores = 1, .forged = 0, .ring = 500};
    std::mt19937_64 random(9);
    const Placement placement = Placement::parse(kPlacement);
    test::RingOfChunks chunks(traffic.ring, placement.check());
    ChunkWindow window(window_config(traffic), chunks.ring);
    const Deal dealt = deal(traffic, random);
    TestLcore filler(placement, window, traffic, random());
    stats::StreamCounters counters;
    ChunkLane stalled(placement, window, counters, false);
    std::vector<std::unique_ptr<ChunkLane>> idle;
    for (int i = 0; i < 2; i++)
        idle.push_back(std::make_unique<ChunkLane>(placement, window, counters, false));

    PacketBytes packet;
    const ChunkLane::Accepted to = stalled.accept(packet.view({}), 0, false);
    ASSERT_EQ(to.verdict, ChunkLane::Verdict::copy);
    std::atomic<bool> over{false};
    {
        std::vector<std::jthread> pollers;
        for (const auto& lane : idle)
            pollers.emplace_back([&over, &lane] {
                while (!over.load(std::memory_order_relaxed))
                    lane->boundary();
                lane->leave();
            });
        Progress progress(1);
        filler.run(dealt.lists[0], progress, 0);
        over = true;
    }
    EXPECT_EQ(filler.counters[PacketOutcome::no_chunk], 0u) << "chunks were free all the time";
    EXPECT_EQ(filler.counters[PacketOutcome::placed] + filler.counters[PacketOutcome::duplicate], dealt.sent);
    EXPECT_EQ(window.counts().handed_over, 0u);
    packet.copy_to(*to.base + to.offset);
    stalled.boundary();
    stalled.leave();
    TestConsumer consumer;
    consumer.take_all(chunks.ring);
    EXPECT_EQ(consumer.wrong, 0u);
    EXPECT_EQ(consumer.chunks, traffic.chunks);
    EXPECT_EQ(consumer.packets, filler.counters[PacketOutcome::placed] + 1);
    EXPECT_EQ(window.counts().short_of, 0u);
}

}  // namespace
}  // namespace spead::chunk::group
