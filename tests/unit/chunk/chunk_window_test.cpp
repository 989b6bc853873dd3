// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_window.hpp"

#include <atomic>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/chunk/window_rig.hpp"

namespace spead::chunk::test {
namespace {

TEST(ChunkWindow, OpensChunksAsPacketsNeedThemAndHandsTheOldestOver) {
    WindowRig rig(4, {.chunks = 2});
    EXPECT_EQ(rig.open(5), Missing::none);
    EXPECT_EQ(rig.open(6), Missing::none);
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{});
    EXPECT_EQ(rig.open(7), Missing::none);
    EXPECT_EQ(rig.taken(), Ids{}) << "copies into 5 may be outstanding";
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{5});
    EXPECT_EQ(rig.members[0]->find(5), nullptr);
    EXPECT_EQ(rig.open(5), Missing::late);
    EXPECT_EQ(rig.open(4), Missing::late);
    EXPECT_EQ(rig.open(6), Missing::none) << "still open";
    EXPECT_EQ(rig.window->counts().opened.load(), 3u);
    EXPECT_EQ(rig.window->counts().handed_over.load(), 1u);
    EXPECT_EQ(rig.window->open(), 2u);
}

TEST(ChunkWindow, IdsThatNobodySendsAreSkipped) {
    WindowRig rig(8, {.chunks = 3});
    rig.open(10);
    rig.open(20);
    rig.boundary();
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{10});
    EXPECT_EQ(rig.window->counts().skipped.load(), 7u) << "11 to 17: nothing came before 10";
    EXPECT_EQ(rig.open(18), Missing::none);
    EXPECT_EQ(rig.open(17), Missing::late);
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), (Ids{18, 20}));
}

TEST(ChunkWindow, BackFillsAsSpead2Does) {
    WindowRig rig(16, {.chunks = 4, .back_fill = true});
    for (const std::int64_t id : {10, 20}) {
        EXPECT_EQ(rig.open(id), Missing::none);
        rig.boundary();
        rig.boundary();
    }
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), (Ids{7, 8, 9, 10, 17, 18, 19, 20}));
}

TEST(ChunkWindow, BackFillingWaitsForEachChunkIfTheSourceCan) {
    WindowRig rig(4, {.chunks = 4, .back_fill = true});
    EXPECT_EQ(rig.open(10), Missing::none);
    Ids all;
    int waits = 0;
    while (rig.open(20, 0, 1, 1, true) == Missing::waits) {
        ASSERT_LT(waits++, 100);
        rig.boundary();
        // The user keeps all but one: ids get their chunks one by one.
        if (Chunk* const chunk = rig.ring().take(); chunk != nullptr) {
            all.push_back(chunk->id);
            EXPECT_TRUE(rig.ring().give_back(*chunk));
        }
    }
    EXPECT_GE(waits, 4);
    EXPECT_EQ(rig.open(17), Missing::none);
    EXPECT_EQ(rig.open(16), Missing::late);
    rig.members[0]->leave();
    for (const std::int64_t id : rig.taken())
        all.push_back(id);
    EXPECT_EQ(all, (Ids{7, 8, 9, 10, 17, 18, 19, 20}));
}

TEST(ChunkWindow, BackFillingDoesNotKeepASourceThatCannotWait) {
    WindowRig rig(4, {.chunks = 4, .back_fill = true});
    EXPECT_EQ(rig.open(10), Missing::none);
    EXPECT_EQ(rig.open(20), Missing::no_chunk);
    rig.boundary();
    rig.boundary();
    EXPECT_EQ(rig.taken(), (Ids{7, 8, 9, 10}));
    EXPECT_EQ(rig.open(20), Missing::none) << "its own first";
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), Ids{20});
}

TEST(ChunkWindow, TheFirstIdsAreNeverNegative) {
    WindowRig rig(8, {.chunks = 4, .back_fill = true});
    EXPECT_EQ(rig.open(1), Missing::none);
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), (Ids{0, 1}));
}

TEST(ChunkWindow, IdsUpToTheLargestWork) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    WindowRig rig(8, {.chunks = 2});
    EXPECT_EQ(rig.open(0), Missing::none);
    EXPECT_EQ(rig.open(most), Missing::none);
    EXPECT_EQ(rig.open(most - 1), Missing::none);
    EXPECT_EQ(rig.open(most - 2), Missing::late);
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), (Ids{0, most - 1, most}));
}

TEST(ChunkWindow, WithoutAFreeChunkPacketsHaveNoneAndTheWindowGoesOn) {
    WindowRig rig(2, {.chunks = 2});
    rig.open(0);
    rig.open(1);
    rig.boundary();
    EXPECT_EQ(rig.open(2), Missing::no_chunk);
    EXPECT_EQ(rig.open(2, 0, 1, 1, true), Missing::waits) << "its source loses nothing by waiting";
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{0}) << "0 has left the window nevertheless";
    EXPECT_EQ(rig.open(2), Missing::none);
    EXPECT_EQ(rig.window->counts().short_of.load(), 1u) << "2 was wanted, however often it was asked for";
}

TEST(ChunkWindow, AChunkWaitsForTheBoundaryOfEveryMemberThatIsOnline) {
    WindowRig rig(8, {.chunks = 1}, 3);
    for (std::size_t m = 0; m < 3; m++)
        EXPECT_EQ(rig.open(0, m), Missing::none);
    rig.open(1, 0);
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.taken(), Ids{}) << "member 2 may still copy";
    EXPECT_NE(rig.members[2]->find(0), nullptr);
    rig.boundary(2);
    EXPECT_EQ(rig.members[2]->find(0), nullptr);
    EXPECT_EQ(rig.taken(), Ids{0});

    rig.members[2]->offline();
    rig.open(2, 0);
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.taken(), Ids{1}) << "member 2 sleeps";
    EXPECT_EQ(rig.open(2, 2), Missing::none) << "it is awake again";
}

TEST(ChunkWindow, TheLastMemberThatRestsHandsOver) {
    WindowRig rig(8, {.chunks = 1}, 2);
    rig.open(0, 0);
    rig.open(0, 1);
    rig.open(1, 0);
    rig.members[0]->offline();
    EXPECT_EQ(rig.taken(), Ids{});
    rig.members[1]->offline();
    EXPECT_EQ(rig.taken(), Ids{0});
}

TEST(ChunkWindow, WhileAMemberStallsNobodyTakesTheTurnInVain) {
    WindowRig rig(2, {.chunks = 1}, 3);
    rig.open(0, 0);
    rig.open(0, 2);
    rig.open(1, 0);
    rig.boundary(0);
    rig.boundary(1);
    std::atomic<bool> over{false};
    std::uint64_t busy = 0;
    {
        std::atomic<bool> polls{false};
        const std::jthread poller([&] {
            while (!over.load(std::memory_order_relaxed)) {
                rig.boundary(1);
                polls.store(true, std::memory_order_relaxed);
            }
        });
        while (!polls.load(std::memory_order_relaxed))
            std::this_thread::yield();
        for (std::uint64_t i = 0; i < spead::test::cases(400'000); i++)
            busy += rig.open(2, 0) == Missing::busy;
        over = true;
    }
    EXPECT_EQ(busy, 0u) << "times that the poller had the turn, though member 2 still has chunk 0";
    rig.boundary(0);
    rig.boundary(1);
    EXPECT_EQ(rig.taken(), Ids{});
    rig.boundary(2);
    EXPECT_EQ(rig.taken(), (Ids{0, 1}));
}

TEST(ChunkWindow, OnlyTheLastMemberThatLeavesEndsTheWindow) {
    WindowRig rig(8, {.chunks = 4}, 2);
    rig.open(3, 0);
    rig.open(4, 1);
    rig.members[0]->leave();
    EXPECT_EQ(rig.taken(), Ids{});
    rig.members[1]->leave();
    EXPECT_EQ(rig.taken(), (Ids{3, 4}));
    // Others may begin anew, at any id.
    rig.members.clear();
    rig.members.push_back(std::make_unique<Member>(*rig.window));
    EXPECT_EQ(rig.open(1), Missing::none);
}

TEST(ChunkWindow, LosslessChunksStayUntilAllMembersHavePassed) {
    WindowRig rig(8, {.chunks = 2, .eviction = Eviction::lossless}, 2);
    rig.open(0, 0);
    rig.open(1, 0);
    rig.boundary(0);
    EXPECT_EQ(rig.open(2, 0, 1, 1, true), Missing::waits) << "member 1 has seen nothing yet";
    EXPECT_EQ(rig.open(2, 0, 1, 1, false), Missing::no_chunk) << "a source that cannot wait";
    rig.open(0, 1);
    rig.boundary(1);
    EXPECT_EQ(rig.open(2, 0, 1, 1, true), Missing::waits) << "member 1 may need 0 still";
    rig.open(1, 1);
    rig.boundary(1);
    EXPECT_EQ(rig.open(2, 0, 1, 1, true), Missing::waits);
    EXPECT_EQ(rig.open(2, 1, 1, 1, true), Missing::none) << "member 0 wants to go on, too";
    rig.boundary(1);
    rig.boundary(0);
    EXPECT_EQ(rig.taken(), Ids{0});
    EXPECT_EQ(rig.open(2, 0, 1, 1, true), Missing::none);
}

TEST(ChunkWindow, PatienceEndsAndAMemberThatLeavesIsWaitedForNoMore) {
    WindowRig rig(8, {.chunks = 1, .eviction = Eviction::lossless, .patience_ticks = 100}, 2);
    rig.open(0, 0);
    EXPECT_EQ(rig.open(1, 0, 10, 1, true), Missing::waits);
    EXPECT_EQ(rig.open(1, 0, 110, 1, true), Missing::waits);
    EXPECT_EQ(rig.open(1, 0, 111, 1, true), Missing::none);
    EXPECT_EQ(rig.window->counts().out_waited.load(), 1u);
    EXPECT_EQ(rig.open(2, 0, 120, 1, true), Missing::none) << "a silent member costs patience once";
    EXPECT_EQ(rig.open(2, 1, 130), Missing::none);
    rig.boundary(1);
    EXPECT_EQ(rig.open(3, 0, 140, 1, true), Missing::waits) << "it has packets again";
    rig.members[1]->leave();
    EXPECT_EQ(rig.open(3, 0, 141, 1, true), Missing::none);
    EXPECT_EQ(rig.window->counts().out_waited.load(), 1u);
}

TEST(ChunkWindow, AnLcoreWithAnEarlierTimeDoesNotEndPatience) {
    WindowRig rig(8, {.chunks = 1, .eviction = Eviction::lossless, .patience_ticks = 100}, 3);
    rig.open(0, 0);
    rig.open(0, 1);
    EXPECT_EQ(rig.open(1, 1, 50, 1, true), Missing::waits) << "member 2 lags";
    for (std::uint64_t now = 50; now > 0; now--)
        ASSERT_EQ(rig.open(1, 0, now, 1, true), Missing::waits) << "its packet came before member 1's";
    EXPECT_EQ(rig.window->counts().out_waited.load(), 0u);
    EXPECT_EQ(rig.open(0, 2, 60), Missing::none) << "nothing was taken from member 2";
    EXPECT_EQ(rig.open(1, 0, 151, 1, true), Missing::none);
    EXPECT_EQ(rig.window->counts().out_waited.load(), 1u);
}

TEST(ChunkWindow, IdleChunksAreClosedOldestFirst) {
    WindowRig rig(8, {.chunks = 4, .timeout_ticks = 100});
    rig.open(0, 0, 10);
    rig.open(1, 0, 50);
    rig.boundary();
    rig.members[0]->expire(110);
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{});
    rig.members[0]->expire(111);
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{0});
    EXPECT_EQ(rig.open(0, 0, 112), Missing::late) << "closed for good";
    EXPECT_EQ(rig.open(1, 0, 140), Missing::none);
    rig.boundary();
    rig.members[0]->expire(200);
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{}) << "its last packet came at 140";
    rig.members[0]->expire(241);
    rig.boundary();
    EXPECT_EQ(rig.taken(), Ids{1});
    EXPECT_EQ(rig.window->counts().timed_out.load(), 2u);
    EXPECT_EQ(rig.open(2, 0, 250), Missing::none);
}

TEST(ChunkWindow, ImpossibleSettingsAreRefused) {
    test::RingOfChunks chunks(1);
    EXPECT_THROW(ChunkWindow({.chunks = 0}, chunks.ring), UsageError);
    EXPECT_THROW(ChunkWindow({.chunks = 257}, chunks.ring), UsageError);
    EXPECT_THROW(ChunkWindow({.max_jump = ~std::uint64_t{0}}, chunks.ring), UsageError);
    ChunkWindow window({}, chunks.ring);
    std::vector<std::unique_ptr<Member>> members;
    for (std::size_t i = 0; i < kMaxMembers; i++)
        members.push_back(std::make_unique<Member>(window));
    EXPECT_THROW(Member{window}, UsageError);
    members.erase(members.begin() + 7);
    EXPECT_EQ(Member(window).number(), 7u);
}

TEST(ChunkWindow, ChunksThatItBeganAndEndedWithAreCut) {
    WindowRig rig(8, {.chunks = 2});
    for (const std::int64_t id : {7, 6, 8, 9, 10})
        rig.open(id);
    const auto is_cut = [&rig](std::int64_t id) { return rig.members[0]->find(id)->cut; };
    EXPECT_FALSE(is_cut(9));
    rig.boundary();
    rig.members[0]->leave();
    std::vector<std::int64_t> cut;
    while (const Chunk* const chunk = rig.ring().take())
        if (chunk->cut)
            cut.push_back(chunk->id);
    EXPECT_EQ(cut, (Ids{6, 7, 9, 10}));
}

/// Opens a chunk for a packet that begins it or not, and returns whether it counts as cut.
bool opens_cut(WindowRig& rig, std::int64_t id, bool begins) {
    Missing missing = Missing::none;
    const Chunk* const chunk = rig.members[0]->open(
        {.id = id, .anew = id, .source = 2, .can_wait = false, .now = 1, .begins = begins}, missing);
    EXPECT_NE(chunk, nullptr);
    return chunk != nullptr && chunk->cut;
}

TEST(ChunkWindow, TheFirstChunksThatASenderAheadWasInsideOfAreCut) {
    WindowRig rig(8, {.chunks = 3});
    const auto is_cut = [&rig](std::int64_t id, bool begins) {
        const bool cut = opens_cut(rig, id, begins);
        rig.boundary();
        rig.taken();
        return cut;
    };
    EXPECT_TRUE(is_cut(7, true));
    EXPECT_TRUE(is_cut(8, false)) << "its sender was in it when the window began";
    EXPECT_FALSE(is_cut(9, true));
    EXPECT_FALSE(is_cut(10, false)) << "no sender came later than the one of 9: its beginning was lost";
}

TEST(ChunkWindow, ChunksBeforeThatOfTheSenderAheadAreCutToo) {
    WindowRig rig(8, {.chunks = 3});
    rig.open(7);
    EXPECT_TRUE(opens_cut(rig, 9, false));
    rig.open(8);
    EXPECT_TRUE(rig.members[0]->find(8)->cut) << "its heaps of that sender came before the window began";
    rig.open(10);
    EXPECT_FALSE(rig.members[0]->find(10)->cut);
}

TEST(ChunkWindow, ChunksThatAreFilledInBeforeThatOfTheSenderAheadAreCutToo) {
    WindowRig rig(8, {.chunks = 3, .back_fill = true});
    rig.open(7);
    EXPECT_TRUE(opens_cut(rig, 9, false));
    EXPECT_TRUE(rig.members[0]->find(8)->cut);
}

/// Lets another lcore have the packet that begins the chunk.
TEST(ChunkWindow, WhereSeveralLcoresFillChunksNoSenderIsKnownToBeAhead) {
    WindowRig rig(8, {.chunks = 3}, 2);
    rig.open(7);
    EXPECT_FALSE(opens_cut(rig, 8, false));
}

TEST(ChunkWindow, AChunkAfterTheWindowsFirstIdsIsWholeWhereverItsFirstPacketIs) {
    WindowRig rig(8, {.chunks = 3});
    rig.open(7);
    for (const std::int64_t id : {10, 11})
        EXPECT_FALSE(opens_cut(rig, id, false));
}

TEST(ChunkWindow, ChunksThatTheWindowBeforeHadOpenAreCut) {
    WindowRig before(8, {.chunks = 3});
    before.open(6);
    WindowRig rig(8, {.chunks = 2});
    rig.window->goes_on_from(*before.window);
    const auto is_cut = [&rig](std::int64_t id) { return rig.members[0]->find(id)->cut; };
    // Its last packets come while the new window is there.
    before.open(8);
    before.members[0]->leave();
    rig.open(7);
    rig.open(8);
    EXPECT_TRUE(is_cut(7));
    EXPECT_TRUE(is_cut(8)) << "some heaps are in the chunk of the window before";
    rig.open(9);
    EXPECT_FALSE(is_cut(9));
}

TEST(ChunkWindow, AWindowBetweenThatOpenedNothingPassesThemOn) {
    WindowRig before(8, {.chunks = 2});
    before.open(6);
    before.open(8);
    WindowRig between(8, {.chunks = 2});
    between.window->goes_on_from(*before.window);
    WindowRig rig(8, {.chunks = 2});
    rig.window->goes_on_from(*between.window);
    rig.open(7);
    rig.open(8);
    EXPECT_TRUE(rig.members[0]->find(8)->cut);
    rig.open(9);
    EXPECT_FALSE(rig.members[0]->find(9)->cut);
}

TEST(ChunkWindow, ChunksLongBeforeThoseOfTheWindowBeforeAreWhole) {
    WindowRig before(8, {.chunks = 2});
    before.open(1000);
    WindowRig rig(8, {.chunks = 2});
    rig.window->goes_on_from(*before.window);
    // The time has wrapped.
    rig.open(0);
    rig.open(1);
    EXPECT_TRUE(rig.members[0]->find(0)->cut) << "it began with this one";
    EXPECT_FALSE(rig.members[0]->find(1)->cut);
}

TEST(ChunkWindow, WantedChunksCountOnceEachWhicheverPacketComes) {
    WindowRig rig(2, {.chunks = 2});
    rig.open(0);
    rig.open(1);
    for (int i = 0; i < 10; i++) {
        EXPECT_EQ(rig.open(3), Missing::no_chunk);
        EXPECT_EQ(rig.open(2), Missing::no_chunk);
    }
    EXPECT_EQ(rig.window->counts().short_of.load(), 2u);
}

TEST(ChunkWindow, PacketsOfLongAgoAreCountedApart) {
    WindowRig rig(8, {.chunks = 2, .max_jump = 4, .second_ticks = kSecond});
    rig.open(100);
    EXPECT_EQ(rig.open(96), Missing::late);
    EXPECT_EQ(rig.window->counts().long_past.load(), 0u);
    EXPECT_EQ(rig.open(50), Missing::late);
    EXPECT_EQ(rig.window->counts().long_past.load(), 1u);
}

}  // namespace
}  // namespace spead::chunk::test
