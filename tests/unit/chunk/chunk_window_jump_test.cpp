// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "chunk/chunk_window.hpp"
#include "tests/unit/chunk/window_rig.hpp"

namespace spead::chunk::test {
namespace {

TEST(ChunkWindow, AForgedTimeDoesNotMoveTheWindow) {
    WindowRig rig(8, guarded());
    rig.open(100);
    EXPECT_EQ(rig.open(117), Missing::future);
    EXPECT_EQ(rig.open(1'000'000'000), Missing::future);
    EXPECT_EQ(rig.open(82), Missing::late);
    EXPECT_EQ(rig.open(0), Missing::late);
    EXPECT_EQ(rig.open(116), Missing::none) << "within max_jump";
}

TEST(ChunkWindow, EnoughPacketsOfEnoughSourcesMoveItEitherWay) {
    for (const std::int64_t to : {5000, 3}) {
        WindowRig rig(8, guarded());
        for (std::uint32_t source = 1; source <= 4; source++)
            rig.window->note_source(source, 1);
        rig.open(100);
        const Missing refused = to > 100 ? Missing::future : Missing::late;
        for (int i = 0; i < 1000; i++)
            ASSERT_EQ(rig.open(to, 0, 2, 7), refused) << "one source is not half of four";
        for (int i = 0; i < 63; i++)
            ASSERT_EQ(rig.open(9000 + 100 * i, 0, 2, 8),
                      refused == Missing::late ? Missing::future : refused);
        EXPECT_EQ(rig.open(to, 0, 3, 8), Missing::none) << "a second source agrees with the first";
        rig.boundary();
        rig.boundary();
        EXPECT_EQ(rig.taken(), Ids{100});
        EXPECT_EQ(rig.window->counts().resyncs.load(), 1u);
        EXPECT_EQ(rig.open(to + 1, 0, 4), Missing::none);
    }
}

TEST(ChunkWindow, ChunksAfterAVoteThatTheWindowBeforeHadOpenAreCut) {
    for (const std::int64_t to : {5000, 3}) {
        WindowRig before(8, guarded());
        before.window->note_source(1, 1);
        before.open(100);
        while (before.open(to) != Missing::none)
            ASSERT_EQ(before.window->counts().resyncs.load(), 0U);
        before.open(to + 1);
        WindowRig rig(8, guarded());
        rig.window->goes_on_from(*before.window);
        rig.open(to);
        rig.open(to + 1);
        EXPECT_TRUE(rig.members[0]->find(to + 1)->cut) << "some heaps are in the chunk of the window before";
        rig.open(to + 2);
        EXPECT_FALSE(rig.members[0]->find(to + 2)->cut);
    }
}

/// Makes a lossless window of three members with packets of chunk 1000, and moves it to chunk 3.
struct JumpRig : WindowRig {
    JumpRig() : WindowRig(8, config(), 3) {
        window->note_source(1, 1);
        for (std::size_t member = 0; member < 3; member++) {
            open(1000, member);
            boundary(member);
        }
    }
    static ChunkWindowConfig config() {
        ChunkWindowConfig c = guarded();
        c.chunks = 1;
        c.eviction = Eviction::lossless;
        return c;
    }
    void jump() {
        for (std::uint32_t i = 1; i < Resync::kPackets; i++)
            ASSERT_EQ(open(3, 0, 2), Missing::late);
        ASSERT_EQ(open(3, 0, 2), Missing::none);
        boundary(0);
    }
};

TEST(ChunkWindow, AfterAJumpMembersAreWaitedForWhateverTheyHadBefore) {
    JumpRig rig;
    EXPECT_EQ(rig.open(1000, 1), Missing::none);
    rig.jump();
    rig.boundary(1);
    rig.boundary(2);
    EXPECT_EQ(rig.open(4, 0, 3, 1, true), Missing::waits) << "1000 says nothing about 3";
    EXPECT_EQ(rig.open(3, 1), Missing::none);
    EXPECT_EQ(rig.open(4, 2, 3, 1, true), Missing::waits);
    EXPECT_EQ(rig.open(4, 0, 3, 1, true), Missing::waits) << "member 1 may need 3 still";
    EXPECT_EQ(rig.open(4, 1, 3, 1, true), Missing::none) << "the others want to go on";
}

TEST(ChunkWindow, AJumpMakesNobodyWaitForAMemberThatHasLeft) {
    JumpRig rig;
    rig.members[2]->leave();
    rig.jump();
    EXPECT_EQ(rig.open(4, 1, 3, 1, true), Missing::waits) << "member 0 has 3";
    rig.members[1]->leave();
    EXPECT_EQ(rig.open(4, 0, 3, 1, true), Missing::none);
}

TEST(ChunkWindow, AMemberThatLagsDoesNotMoveTheWindowBack) {
    WindowRig rig(8, guarded(), 2);
    rig.window->note_source(1, 1);
    rig.open(100, 0);
    rig.open(100, 1);
    for (std::int64_t id = 101; id < 200; id++) {
        rig.open(id, 0);
        rig.boundary(0);
        rig.boundary(1);
        rig.taken();
    }
    // It lost its CPU, and its queue is full.
    for (std::int64_t i = 0; i < 1000; i++)
        ASSERT_EQ(rig.open(100 + i / 20, 1, 2 * kSecond), Missing::late) << i;
    EXPECT_EQ(rig.window->counts().resyncs.load(), 0u);
    // No queue lasts for a second: the stream is there.
    rig.window->note_source(1, 3 * kSecond);
    for (std::uint32_t i = 1; i < Resync::kPackets; i++)
        ASSERT_EQ(rig.open(150, 1, 3 * kSecond + 1), Missing::late) << i;
    EXPECT_EQ(rig.open(150, 1, 3 * kSecond + 1), Missing::none);
}

TEST(ChunkWindow, PacketsFromBeforeAJumpDoNotMoveItBack) {
    for (const std::int64_t to : {3, 2000}) {
        WindowRig rig(8, guarded(), 2);
        rig.window->note_source(1, 1);
        rig.open(1000, 0);
        rig.open(1000, 1);
        while (rig.open(to, 0) != Missing::none)
            ASSERT_EQ(rig.window->counts().long_past.load() / 64, 0u);
        for (std::int64_t i = 0; i < 1000; i++) {
            rig.boundary(1);
            ASSERT_EQ(rig.open(1000 + i / 100, 1), to < 1000 ? Missing::future : Missing::late) << i;
        }
        EXPECT_EQ(rig.window->counts().resyncs.load(), 1u);
        EXPECT_EQ(rig.open(to, 1), Missing::none);
    }
}

TEST(ChunkWindow, RandomForgedTimesNeverMoveIt) {
    WindowRig rig(8, guarded());
    rig.window->note_source(1, 1);
    rig.open(100);
    std::uint64_t random = 1;
    for (int i = 0; i < 1'000'000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        const auto id = static_cast<std::int64_t>(random >> 8);
        const Missing missing = rig.open(id, 0, 2 + static_cast<std::uint64_t>(i) / 1000, 1);
        ASSERT_TRUE(missing == Missing::future || missing == Missing::late) << id;
    }
    EXPECT_EQ(rig.window->counts().resyncs.load(), 0u);
    EXPECT_EQ(rig.open(101), Missing::none);
}

TEST(ChunkWindow, ATrueJumpWinsAmongForgedTimes) {
    WindowRig rig(8, guarded());
    rig.window->note_source(1, 1);
    rig.open(100);
    std::uint64_t random = 1;
    int packets = 0;
    for (; packets < 1000; packets++) {
        for (int i = 0; i < 4; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            rig.open(static_cast<std::int64_t>(random >> 8), 0, 2, 1);
        }
        if (rig.open(7000 + packets / 100, 0, 2, 1) == Missing::none)
            break;
    }
    EXPECT_LT(packets, 400);
    EXPECT_EQ(rig.window->counts().resyncs.load(), 1u);
}

TEST(ChunkWindow, VotesOfLcoresWhoseTimesDifferAddUp) {
    WindowRig rig(8, guarded());
    rig.window->note_source(1, 10 * kSecond);
    rig.open(100, 0, 10 * kSecond);
    for (std::uint64_t i = 1; i < Resync::kPackets; i++)
        ASSERT_EQ(rig.open(7000, 0, 10 * kSecond + 499 + i % 2), Missing::future) << i;
    EXPECT_EQ(rig.open(7000, 0, 10 * kSecond + 499), Missing::none);
}

}  // namespace
}  // namespace spead::chunk::test
