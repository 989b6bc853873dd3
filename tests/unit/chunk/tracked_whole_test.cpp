// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/chunk/numbered_rig.hpp"

/// Tests heaps of one packet, which are placed into chunks without a record.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

bool has_heap(const Chunk& chunk, std::uint64_t n) {
    for (std::uint64_t i = 0; i < kNumberedHeap; i++)
        if (chunk.data[n % kNumberedHeaps * kNumberedHeap + i] != std::byte{heap::test::pattern(n, i)})
            return false;
    return true;
}

TEST(TrackedWhole, PlacesAHeapOfOnePacketWithoutARecord) {
    NumberedRig rig;
    EXPECT_EQ(rig.give(telling(4, 0, kNumberedHeap)), placed) << "its chunk is opened";
    rig.tracked->boundary();
    rig.map.asked = 0;
    EXPECT_EQ(rig.offer(telling(5, 0, kNumberedHeap).from(7).time(3), false, false), Tracked::Verdict::copy);
    EXPECT_EQ(rig.tracked->window().records_out(), 0U);
    EXPECT_EQ(rig.map.asked, 1U);
    rig.copy();
    rig.tracked->boundary();
    EXPECT_EQ(rig.give(telling(5, 0, kNumberedHeap)), duplicate);
    EXPECT_EQ(rig.give(silent(5)), duplicate);
    EXPECT_EQ(rig.give(telling(5, 0, kNumberedHeap, 77)), duplicate) << "its place is full";
    EXPECT_EQ(rig.give(telling(999'999, 0, kNumberedHeap, 78)), out_of_range);
    rig.check();
    rig.end();
    Chunk* const chunk = rig.chunks.ring.take();
    ASSERT_NE(chunk, nullptr);
    EXPECT_TRUE(has_heap(*chunk, 4));
    EXPECT_TRUE(has_heap(*chunk, 5));
    EXPECT_EQ(chunk->heaps_present, 2U);
    EXPECT_EQ(chunk->packets, 2U);
    EXPECT_EQ(chunk->bytes, 2 * kNumberedHeap);
    EXPECT_EQ(chunk->first_arrival, 1U);
    EXPECT_EQ(chunk->last_arrival, 3U);
    EXPECT_EQ(chunk->extra[2], std::byte{5});
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 2U);
}

}  // namespace
}  // namespace spead::chunk::test
