// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_group.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::runtime::unit_test {
namespace {

struct GroupOfChunks {
    GroupOfChunks() { chunks->add(shape, 6); }
    std::shared_ptr<ChunkFilling> join() {
        auto filling = group->filling({chunks, 7, totals, {}, group, {}}, shape, plan);
        filling->join();
        filling->serve();
        return filling;
    }
    /// Opens the chunk of an id, as an lcore does.
    static void open(chunk::Member& member, std::int64_t id) {
        chunk::Member::Missing missing{};
        EXPECT_NE(member.open({.id = id, .anew = id, .source = 1, .can_wait = false, .now = 1}, missing),
                  nullptr);
        member.boundary();
    }

    ChunkShape shape{chunk::Placement::parse("heap 64; time: item 0x1600 [8]")};
    ChunkPlan plan{.placement = "heap 64; time: item 0x1600 [8]", .window = 2};
    std::shared_ptr<UserChunks> chunks = std::make_shared<UserChunks>(6);
    std::shared_ptr<UserChunks::Totals> totals = std::make_shared<UserChunks::Totals>();
    std::shared_ptr<ChunkGroup> group = std::make_shared<ChunkGroup>();
};

TEST(ChunkGroup, StreamsShareAWindowUntilAllHaveEnded) {
    GroupOfChunks g;
    const auto first = g.join();
    const auto second = g.join();
    EXPECT_EQ(first, second);
    EXPECT_EQ(g.totals->filling.load(), 1);
    {
        chunk::Member one(first->window());
        chunk::Member two(second->window());
        GroupOfChunks::open(one, 0);
        GroupOfChunks::open(two, 1);
        one.leave();
        first->leave();
        EXPECT_FALSE(first->ended());
        EXPECT_FALSE(g.chunks->ended());
        EXPECT_EQ(g.chunks->ring().waiting(), 0U) << "the other one has its chunks still";
        two.leave();
    }
    second->leave();
    EXPECT_TRUE(second->ended());
    for (std::int64_t id = 0; id < 2; id++) {
        const auto loan = g.chunks->try_take();
        ASSERT_TRUE(loan);
        EXPECT_EQ(loan->chunk->id, id);
        EXPECT_EQ(loan->filler->tag, 7U);
        g.chunks->give_back(*loan);
    }
    EXPECT_TRUE(g.chunks->ended());
}

TEST(ChunkGroup, BeginsAnewAndKeepsItsCounts) {
    GroupOfChunks g;
    const auto before = g.join();
    {
        chunk::Member member(before->window());
        GroupOfChunks::open(member, 5);
    }
    before->leave();
    const auto after = g.join();
    EXPECT_NE(before, after);
    EXPECT_FALSE(g.chunks->ended() && g.chunks->ring().waiting() == 0);
    {
        chunk::Member member(after->window());
        GroupOfChunks::open(member, 0);
        GroupOfChunks::open(member, 1);
    }
    EXPECT_EQ(g.group->counts().opened, 3U);
    EXPECT_EQ(g.group->counts().handed_over, 3U);
    after->leave();
}

TEST(ChunkGroup, CountsWhatUsersTakeAndGiveBack) {
    GroupOfChunks g;
    const auto before = g.join();
    {
        chunk::Member member(before->window());
        GroupOfChunks::open(member, 5);
        GroupOfChunks::open(member, 6);
        GroupOfChunks::open(member, 9);
        EXPECT_EQ(g.group->counts().open, 3U - g.group->counts().handed_over);
    }
    before->leave();
    const auto kept = g.chunks->try_take();
    ASSERT_TRUE(kept);
    const auto after = g.join();
    stats::ChunkCounts c = g.group->counts();
    EXPECT_EQ(c.buffers, 6U);
    EXPECT_EQ(c.buffer_bytes, 512U);
    EXPECT_EQ(c.taken, 1U);
    EXPECT_EQ(c.held, 1U);
    EXPECT_EQ(c.waiting, 2U);
    EXPECT_EQ(c.free, 3U);
    EXPECT_EQ(c.skipped, 1U);
    EXPECT_EQ(c.heaps_skipped, 8U);
    // Chunks of the former window are taken after the new one has begun.
    g.chunks->give_back(*kept);
    while (const auto loan = g.chunks->try_take())
        g.chunks->give_back(*loan);
    after->leave();
    for (int again = 0; again < 2; again++) {
        c = g.group->counts();
        EXPECT_EQ(c.taken, 3U);
        EXPECT_EQ(c.delivered, 3U);
        EXPECT_EQ(c.heaps_expected, 24U);
        EXPECT_EQ(c.heaps_missing + c.heaps_cut, 24U);
        EXPECT_EQ(c.held + c.waiting + c.open, 0U);
        g.join()->leave();
    }
}

TEST(ChunkGroup, CountsOfRemovedStreamsAreNotCountedAgain) {
    GroupOfChunks g;
    const auto filling = g.join();
    chunk::Member member(filling->window());
    GroupOfChunks::open(member, 0);
    EXPECT_EQ(g.group->counts_of_streams().opened, 1U);
    EXPECT_EQ(g.group->take_counts().opened, 1U);
    EXPECT_EQ(g.group->take_counts().opened, 0U);
    GroupOfChunks::open(member, 1);
    EXPECT_EQ(g.group->counts_of_streams().opened, 1U);
    EXPECT_EQ(g.group->counts().opened, 2U);
    EXPECT_EQ(g.group->counts_of_streams().buffers, 6U);
    member.leave();
    filling->leave();
}

TEST(ChunkGroup, RefusesAnotherShape) {
    GroupOfChunks g;
    const auto filling = g.join();
    const ChunkShape other(chunk::Placement::parse("heap 64; time: item 0x1600 [9]"));
    EXPECT_THROW(g.group->filling({g.chunks, 7, g.totals, {}, g.group, {}}, other, g.plan), UsageError);
    filling->leave();
}

}  // namespace
}  // namespace spead::runtime::unit_test
