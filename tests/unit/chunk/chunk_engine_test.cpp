// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "heap/tickets.hpp"
#include "tests/unit/chunk/window_rig.hpp"

/// Tests members whose copies an engine makes later.
namespace spead::chunk::test {
namespace {

/// Holds a window, and an engine for each of its members.
struct EngineRig : WindowRig {
    explicit EngineRig(std::size_t chunks, std::size_t member_count = 1)
        : WindowRig(chunks, {.chunks = 2}, member_count), tickets(member_count) {
        for (std::size_t i = 0; i < member_count; i++)
            members[i]->copied_by(tickets[i]);
    }
    /// Opens a chunk, and lists a copy into it.
    void put(std::int64_t id, std::size_t member = 0) {
        ASSERT_EQ(open(id, member), Missing::none);
        Chunk& chunk = *members[member]->find(id);
        Chunk::Share& share = chunk.shares[members[member]->number()];
        share.first = 1;
        share.packets++;
        share.parts += chunk.parts[0] == 0;
        chunk.parts[0] = 1;
        tickets[member].take();
    }
    /// Returns "5" for a chunk that waits, "5!" for a broken one.
    std::string waiting() {
        std::string all;
        while (Chunk* const chunk = ring().take()) {
            const bool broken = chunk->broken;
            EXPECT_EQ(chunk->present[0], broken || chunk->packets == 0 ? 0 : 1) << chunk->id;
            EXPECT_EQ(chunk->doubled, 0U);
            all += (all.empty() ? "" : " ") + std::to_string(chunk->id) + (broken ? "!" : "");
            EXPECT_TRUE(ring().give_back(*chunk));
            EXPECT_FALSE(chunk->broken) << "for its next use";
        }
        return all;
    }

    std::vector<heap::Tickets> tickets;
};

TEST(ChunkEngine, AChunkIsHandedOverWhenTheCopiesIntoItHaveBeenMade) {
    EngineRig rig(4);
    rig.put(5);
    rig.boundary();
    const std::uint64_t first = rig.tickets[0].close();
    rig.put(6);
    rig.put(7);
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "") << "copies into 5 may be outstanding";
    rig.tickets[0].done(first);
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "") << "it waits for those that were listed before its end, too";
    rig.tickets[0].done(rig.tickets[0].close());
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "5");
    rig.put(8);
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "");
    rig.tickets[0].done(rig.tickets[0].close());
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "6");
}

TEST(ChunkEngine, LaterCopiesDoNotKeepAChunkForEver) {
    EngineRig rig(4);
    rig.put(5);
    rig.put(6);
    rig.put(7);
    for (int i = 0; i < 4; i++) {
        rig.boundary();
        rig.put(7);
        rig.tickets[0].done(rig.tickets[0].close());
        // There is always a copy that is still to be made.
        rig.put(7);
    }
    rig.boundary();
    EXPECT_EQ(rig.waiting(), "5");
}

TEST(ChunkEngine, EveryMemberWaitsForItsOwnEngine) {
    EngineRig rig(4, 2);
    rig.put(5, 0);
    rig.put(5, 1);
    rig.put(6, 0);
    rig.put(7, 0);
    rig.tickets[0].done(rig.tickets[0].close());
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.waiting(), "");
    rig.tickets[1].done(rig.tickets[1].close());
    rig.boundary(1);
    EXPECT_EQ(rig.waiting(), "5");
}

TEST(ChunkEngine, AnEngineThatFailsBreaksTheChunksThatItsMemberPutPacketsInto) {
    EngineRig rig(6, 2);
    rig.put(5, 0);
    rig.put(6, 1);
    rig.boundary(0);
    rig.boundary(1);
    rig.put(7, 1);
    rig.put(8, 0);
    rig.tickets[1].done(rig.tickets[1].close());
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.waiting(), "");
    rig.tickets[0].fail();
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.waiting(), "5! 6");
    // Later packets go nowhere.
    rig.put(9, 0);
    rig.put(10, 1);
    rig.tickets[1].done(rig.tickets[1].close());
    for (int i = 0; i < 2; i++) {
        rig.boundary(0);
        rig.boundary(1);
    }
    EXPECT_EQ(rig.waiting(), "7 8!");
    EXPECT_TRUE(rig.members[0]->settled());
    rig.members[0]->leave();
    EXPECT_TRUE(rig.members[1]->settled());
    rig.members[1]->leave();
    EXPECT_EQ(rig.waiting(), "9! 10");
}

TEST(ChunkEngine, AMemberLeavesWhenItsCopiesHaveBeenMade) {
    EngineRig rig(4);
    EXPECT_TRUE(rig.members[0]->settled()) << "it has none";
    EngineRig other(4);
    other.put(5);
    EXPECT_FALSE(other.members[0]->settled());
    const std::uint64_t last = other.tickets[0].close();
    // Another stream of the lcore goes on.
    other.tickets[0].take();
    EXPECT_FALSE(other.members[0]->settled());
    other.tickets[0].done(last);
    EXPECT_TRUE(other.members[0]->settled());
    other.members[0]->leave();
    EXPECT_EQ(other.waiting(), "5");
}

TEST(ChunkEngine, AMemberThatLeavesAfterAFailureBreaksItsChunksFirst) {
    EngineRig rig(4);
    rig.put(5);
    rig.tickets[0].fail();
    EXPECT_TRUE(rig.members[0]->settled());
    rig.members[0]->leave();
    EXPECT_EQ(rig.waiting(), "5!");
}

}  // namespace
}  // namespace spead::chunk::test
