// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_tally.hpp"

#include <gtest/gtest.h>

namespace spead::runtime::unit_test {
namespace {

chunk::Chunk& chunk_of(chunk::Chunk& c, std::int64_t id, std::uint64_t handed_over) {
    c.id = id;
    c.handed_over = handed_over;
    c.packets = 10;
    c.heaps_expected = 4;
    c.heaps_present = id % 2 == 0 ? 4 : 3;
    c.doubled = 1;
    return c;
}

stats::ChunkCounts told(const ChunkTally& tally, double hz = 1e9) {
    stats::ChunkCounts c;
    tally.tell(c, hz);
    return c;
}

TEST(ChunkTally, CountsWhatBecameOfChunks) {
    ChunkTally tally;
    chunk::Chunk c;
    for (std::int64_t id = 0; id < 5; id++) {
        tally.take(chunk_of(c, id, 100 + static_cast<std::uint64_t>(id) * 10), 8);
        tally.deliver(id != 3);
    }
    tally.give_back(70);
    tally.give_back(30);
    EXPECT_EQ(tally.taken(), 5U);
    EXPECT_EQ(tally.finished(), 2U);
    const stats::ChunkCounts counts = told(tally);
    EXPECT_EQ(counts.taken, 5U);
    EXPECT_EQ(counts.delivered, 4U);
    EXPECT_EQ(counts.unwritten, 1U);
    EXPECT_EQ(counts.packets, 50U);
    EXPECT_EQ(counts.complete, 3U);
    EXPECT_EQ(counts.heaps_expected, 20U);
    EXPECT_EQ(counts.heaps_present, 18U);
    EXPECT_EQ(counts.doubled, 5U);
    EXPECT_EQ(counts.consumed_ns, 100U);
    EXPECT_EQ(counts.opened, 0U) << "the window's counts are not its own";
}

TEST(ChunkTally, KnowsHowLongAChunkLasts) {
    ChunkTally tally;
    chunk::Chunk c;
    tally.take(chunk_of(c, 10, 1000), 8);
    EXPECT_EQ(told(tally).spanned_ids, 0U) << "of one chunk nothing is known";
    tally.take(chunk_of(c, 12, 1600), 8);
    EXPECT_EQ(told(tally).spanned_ids, 2U);
    EXPECT_EQ(told(tally).spanned_ns, 600U);
    EXPECT_EQ(told(tally, 2e9).spanned_ns, 300U);
    EXPECT_EQ(told(tally, 0).spanned_ns, 0U) << "the clock is not known";
}

TEST(ChunkTally, AJumpSaysNothingAboutTheLengthOfAChunk) {
    ChunkTally tally;
    chunk::Chunk c;
    tally.take(chunk_of(c, 10, 1000), 8);
    tally.take(chunk_of(c, 19, 2000), 8);
    tally.take(chunk_of(c, 3, 3000), 8);
    tally.take(chunk_of(c, 4, 3000), 8);
    EXPECT_EQ(told(tally).spanned_ids, 0U);
    tally.take(chunk_of(c, 12, 3500), 8);
    EXPECT_EQ(told(tally).spanned_ids, 8U);
    EXPECT_EQ(told(tally).spanned_ns, 500U);
}

}  // namespace
}  // namespace spead::runtime::unit_test
