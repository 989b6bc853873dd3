// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/user_chunks.hpp"

#include <array>
#include <gmock/gmock.h>
#include <poll.h>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "runtime/plan.hpp"
#include "tests/support/refusal.hpp"

namespace spead::runtime::unit_test {
namespace {

using namespace std::chrono_literals;
using test::refusal;
using testing::HasSubstr;

chunk::Placement placement() {
    return chunk::Placement::parse("heap 64; time: item 0x1600 [8]; extra u16: item 0x3102");
}

ChunkPlan window_of(std::uint32_t chunks) {
    ChunkPlan plan;
    plan.window = chunks;
    return plan;
}

/// Hands a chunk over, as a window does.
void hand_over(UserChunks& chunks, const UserChunks::Filling& filling, std::int64_t id) {
    chunk::Chunk* const c = chunks.ring().open();
    ASSERT_NE(c, nullptr);
    c->id = id;
    c->stream = filling.number();
    c->shares[0].packets = 3;
    chunks.ring().hand_over(*c);
    chunks.ring().wake();
}

struct UserRig {
    std::shared_ptr<UserChunks> chunks = std::make_shared<UserChunks>(4);
    std::shared_ptr<UserChunks::Totals> totals = std::make_shared<UserChunks::Totals>();

    UserChunks::Use use(std::uint32_t tag) { return {chunks, tag, totals, {}}; }
};

TEST(UserChunks, LendsWhatStreamsHandOver) {
    UserRig rig;
    rig.chunks->add(placement(), 4);
    EXPECT_FALSE(rig.chunks->begun());
    EXPECT_FALSE(rig.chunks->ended());
    UserChunks::Filling filling(rig.use(7), placement(), window_of(2), 8);
    EXPECT_FALSE(rig.chunks->begun()) << "its start may fail";
    filling.serve();
    EXPECT_TRUE(rig.chunks->begun());
    EXPECT_EQ(rig.totals->filling.load(), 1);
    EXPECT_FALSE(rig.chunks->try_take());
    pollfd p{rig.chunks->fd(), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_FALSE(rig.chunks->take(0ns));
    hand_over(*rig.chunks, filling, 5);
    EXPECT_EQ(poll(&p, 1, 0), 1);
    const std::optional<UserChunks::Loan> loan = rig.chunks->take(20s);
    ASSERT_TRUE(loan);
    EXPECT_EQ(loan->chunk->id, 5);
    EXPECT_EQ(loan->filler->tag, 7U);
    EXPECT_EQ(filling.filler()->tally.taken(), 1U);
    EXPECT_EQ(filling.filler()->tally.finished(), 0U);
    EXPECT_EQ(rig.totals->tally.taken(), 1U);
    rig.chunks->give_back(*loan);
    EXPECT_EQ(filling.filler()->tally.finished(), 1U);
    EXPECT_EQ(rig.chunks->ring().free(), 4U);
}

TEST(UserChunks, EndWithTheLastStreamThatFillsThem) {
    UserRig rig;
    rig.chunks->add(placement(), 4);
    std::optional<UserChunks::Filling> first;
    std::optional<UserChunks::Filling> second;
    first.emplace(rig.use(1), placement(), window_of(2), 8);
    second.emplace(rig.use(2), placement(), window_of(2), 8);
    first->serve();
    second->serve();
    EXPECT_NE(first->number(), second->number());
    hand_over(*rig.chunks, *first, 1);
    hand_over(*rig.chunks, *second, 2);
    first->end();
    first->end();
    EXPECT_EQ(rig.totals->filling.load(), 1) << "a filling ends once";
    EXPECT_FALSE(rig.chunks->ended());
    second.reset();
    EXPECT_EQ(rig.totals->filling.load(), 0);
    EXPECT_FALSE(rig.chunks->ended()) << "chunks wait";
    for (const std::uint32_t tag : {1, 2}) {
        const std::optional<UserChunks::Loan> loan = rig.chunks->take(20s);
        ASSERT_TRUE(loan);
        EXPECT_EQ(loan->filler->tag, tag) << "also of a stream that has ended";
        rig.chunks->give_back(*loan);
    }
    EXPECT_TRUE(rig.chunks->ended());
    EXPECT_FALSE(rig.chunks->take(std::chrono::nanoseconds::max()));
    // A stream that starts again opens them again.
    const UserChunks::Filling again(rig.use(3), placement(), window_of(2), 8);
    EXPECT_FALSE(rig.chunks->ended());
    hand_over(*rig.chunks, again, 3);
    EXPECT_TRUE(rig.chunks->try_take());
}

TEST(UserChunks, DoNotEndWithAStreamThatNeverStarted) {
    UserRig rig;
    rig.chunks->add(placement(), 3);
    {
        const UserChunks::Filling failed(rig.use(1), placement(), window_of(2), 8);
        EXPECT_THAT(refusal([&] { rig.chunks->add(placement(), 1); }), HasSubstr("fills its chunks already"));
    }
    EXPECT_EQ(rig.totals->filling.load(), 0);
    EXPECT_FALSE(rig.chunks->ended());
    EXPECT_FALSE(rig.chunks->begun());
    EXPECT_FALSE(rig.chunks->ring().closed());
    rig.chunks->add(placement(), 1);
    UserChunks::Filling filling(rig.use(2), placement(), window_of(2), 8);
    filling.serve();
    hand_over(*rig.chunks, filling, 1);
    // Nor does its end keep from the user that all others have ended.
    std::optional<UserChunks::Filling> late;
    late.emplace(rig.use(3), placement(), window_of(2), 8);
    filling.end();
    EXPECT_FALSE(rig.chunks->ring().closed());
    late.reset();
    const std::optional<UserChunks::Loan> loan = rig.chunks->try_take();
    ASSERT_TRUE(loan);
    EXPECT_EQ(loan->filler->tag, 2U);
    rig.chunks->give_back(*loan);
    EXPECT_TRUE(rig.chunks->ended());
}

TEST(UserChunks, AWaitEndsWithTheStreamsOrWithAStop) {
    for (const bool stops : {false, true}) {
        UserRig rig;
        rig.chunks->add(placement(), 3);
        UserChunks::Filling filling(rig.use(1), placement(), window_of(2), 8);
        filling.serve();
        std::thread waiting([&] { EXPECT_FALSE(rig.chunks->take(std::chrono::nanoseconds::max())); });
        if (stops)
            rig.chunks->stop();
        else
            filling.end();
        waiting.join();
        EXPECT_TRUE(rig.chunks->ended());
    }
}

TEST(UserChunks, AStopLeavesWaitingChunks) {
    UserRig rig;
    rig.chunks->add(placement(), 3);
    UserChunks::Filling filling(rig.use(1), placement(), window_of(2), 8);
    hand_over(*rig.chunks, filling, 1);
    rig.chunks->stop();
    EXPECT_FALSE(rig.chunks->try_take());
    EXPECT_TRUE(rig.chunks->ended());
    EXPECT_EQ(rig.chunks->ring().waiting(), 1U);
}

TEST(UserChunks, AreRefusedForAnotherShape) {
    UserRig rig;
    const chunk::Placement other = chunk::Placement::parse("heap 64; time: item 0x1600 [16]");
    rig.chunks->add(placement(), 2);
    EXPECT_THAT(refusal([&] { rig.chunks->add(other, 1); }), HasSubstr("use another ring"));
    EXPECT_THAT(refusal([&] { rig.chunks->check(other, 1, false); }), HasSubstr("use another ring"));
    EXPECT_THAT(refusal([&] { rig.chunks->check(placement(), 2, false); }), HasSubstr("2 were added"));
    EXPECT_NO_THROW(rig.chunks->check(placement(), 2, true)) << "back-filling needs no more than the window";
    EXPECT_THAT(refusal([&] { rig.chunks->add(placement(), 3); }), HasSubstr("room for 4"));
    EXPECT_THAT(refusal([&] { rig.chunks->add(placement(), 0); }), HasSubstr("0 chunks"));
    const UserChunks::Filling filling(rig.use(1), placement(), window_of(1), 8);
    EXPECT_THAT(refusal([&] { rig.chunks->add(placement(), 1); }), HasSubstr("before the first stream"));
}

TEST(UserChunks, HaveTheShapeOfACallbackOrOfAPlacement) {
    chunk::PlaceCallback sizes;
    sizes.heaps = 8;
    sizes.bytes = 512;
    sizes.extra_bytes = 16;
    const ChunkShape shape(sizes);
    UserRig rig;
    rig.chunks->add(shape, 2);
    EXPECT_NO_THROW(rig.chunks->check(placement(), 1, false)) << "the same sizes";
    sizes.extra_bytes = 15;
    EXPECT_NO_THROW(rig.chunks->check(ChunkShape(sizes), 1, false)) << "rounded up to whole heaps";
    sizes.bytes = 513;
    EXPECT_THAT(refusal([&] { rig.chunks->check(ChunkShape(sizes), 1, false); }),
                HasSubstr("a place callback needs others: 8 heaps in 513 bytes"));
    std::array<std::byte, 512> data{};
    std::array<std::uint8_t, 8> present{};
    std::array<std::byte, 16> extra{};
    int mine = 0;
    rig.chunks->add(shape, data, present, extra, &mine);
    EXPECT_EQ(rig.chunks->ring().at(2).user, &mine);
    EXPECT_THAT(refusal([&] { rig.chunks->add(shape, {}, present, extra, nullptr); }), HasSubstr("null"));
    // Heaps of several packets in the direct way need a byte for each, which a callback's chunks have not.
    const chunk::Placement parts = chunk::Placement::parse("heap 4096; time: item 0x1600 [8]");
    chunk::PlaceCallback whole;
    whole.heaps = 8;
    whole.bytes = std::uint64_t{8} * 4096;
    UserRig of_callback;
    of_callback.chunks->add(ChunkShape(whole), 2);
    EXPECT_THAT(refusal([&] { of_callback.chunks->check(parts, 1, false); }), HasSubstr("use another ring"));
    UserRig of_placement;
    of_placement.chunks->add(parts, 2);
    EXPECT_NO_THROW(of_placement.chunks->check(ChunkShape(whole), 1, false));
    EXPECT_THAT(refusal([&] { of_placement.chunks->add(ChunkShape(whole), 1); }),
                HasSubstr("use another ring"));
    sizes.heaps = 0;
    EXPECT_THAT(refusal([&] { ChunkShape{sizes}; }), HasSubstr("0 heaps"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
