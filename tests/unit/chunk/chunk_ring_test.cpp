// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_ring.hpp"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/readable.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/chunk/ring_rig.hpp"

namespace spead::chunk {
namespace {

using test::RingOfChunks;
using test::small_layout;

TEST(ChunkRing, AChunkGoesRoundThroughItsFourHolders) {
    RingOfChunks r(2);
    EXPECT_EQ(r.ring.free(), 2u);
    EXPECT_EQ(r.ring.take(), nullptr);
    Chunk* const chunk = r.ring.open();
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(chunk->holder.load(), Holder::window);
    EXPECT_EQ(r.ring.free(), 1u);
    r.ring.hand_over(*chunk);
    EXPECT_EQ(chunk->holder.load(), Holder::data);
    EXPECT_EQ(r.ring.waiting(), 1u);
    EXPECT_EQ(r.ring.take(), chunk);
    EXPECT_EQ(chunk->holder.load(), Holder::user);
    EXPECT_TRUE(r.ring.give_back(*chunk));
    EXPECT_EQ(chunk->holder.load(), Holder::free);
    EXPECT_EQ(r.ring.free(), 2u);
}

TEST(ChunkRing, OnlyTheUserGivesBackAndOnce) {
    RingOfChunks r(1);
    RingOfChunks other(1);
    Chunk& chunk = r.ring.at(0);
    EXPECT_FALSE(r.ring.give_back(chunk)) << "it is free";
    r.ring.open();
    EXPECT_FALSE(r.ring.give_back(chunk)) << "lcores fill it";
    r.ring.hand_over(chunk);
    EXPECT_FALSE(r.ring.give_back(chunk)) << "it waits";
    r.ring.take();
    EXPECT_FALSE(other.ring.give_back(chunk)) << "it belongs to another ring";
    EXPECT_TRUE(r.ring.give_back(chunk));
    EXPECT_FALSE(r.ring.give_back(chunk)) << "twice";
    EXPECT_EQ(r.ring.free(), 1u);
    EXPECT_EQ(r.ring.counts().given_back.load(), 1u);
}

TEST(ChunkRing, PartsBecomeThePresenceOfHeaps) {
    RingOfChunks r(1);
    EXPECT_EQ(r.present[0], std::vector<std::uint8_t>(4, 0)) << "zeroed when it was added";
    Chunk& chunk = *r.ring.open();
    chunk.parts_per_heap = 2;
    for (const std::size_t part : {0, 1, 3, 4, 5})  // of heap 1 only the second packet, of heap 3 none
        chunk.parts[part] = 1;
    chunk.shares[0] = {.parts = 4, .packets = 4, .bytes = 32, .first = 100, .last = 120};
    chunk.shares[5] = {.parts = 3, .packets = 3, .bytes = 24, .first = 90, .last = 110};
    r.ring.hand_over(chunk);
    ASSERT_EQ(r.ring.take(), &chunk);
    EXPECT_EQ(r.present[0], (std::vector<std::uint8_t>{1, 0, 1, 0}));
    EXPECT_EQ(chunk.heaps_present, 2u);
    EXPECT_EQ(chunk.heaps_expected, 4u);
    EXPECT_EQ(chunk.packets, 7u);
    EXPECT_EQ(chunk.bytes, 56u);
    EXPECT_EQ(chunk.doubled, 2u) << "two lcores set seven parts, and five are there";
    EXPECT_EQ(chunk.first_arrival, 90u);
    EXPECT_EQ(chunk.last_arrival, 120u);
    EXPECT_FALSE(chunk.complete());
    EXPECT_TRUE(r.ring.give_back(chunk));
    EXPECT_EQ(r.present[0], std::vector<std::uint8_t>(4, 0));
    EXPECT_EQ(std::count(chunk.parts.begin(), chunk.parts.end(), 0), 16);
    EXPECT_EQ(chunk.shares[5].packets, 0u);
    EXPECT_EQ(r.ring.counts().heaps_present.load(), 2u);
}

TEST(ChunkRing, PresenceByPacketIsThatOfTheParts) {
    Layout layout = small_layout();
    layout.packets_per_heap = 4;
    RingOfChunks r(1, layout);
    Chunk& chunk = *r.ring.open();
    chunk.parts_per_heap = 4;
    for (const std::size_t part : {0, 1, 2, 3, 6})
        chunk.parts[part] = 1;
    r.ring.hand_over(chunk);
    r.ring.take();
    EXPECT_EQ(r.present[0], (std::vector<std::uint8_t>{1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(chunk.heaps_present, 1u);
}

TEST(ChunkRing, MemoryThatHasAnotherUseIsRefused) {
    ChunkRing ring(3);
    std::vector<std::byte> data(64), extra(8), more(64), more_extra(8);
    std::vector<std::uint8_t> present(4), more_present(4);
    ring.add(small_layout(), data, present, extra);
    const auto with = [&](std::span<std::byte> d, std::span<std::uint8_t> p, std::span<std::byte> e) {
        return spead::test::refusal([&] { ring.add(small_layout(), d, p, e); });
    };
    EXPECT_THAT(with(more, present, more_extra),
                testing::HasSubstr("the `present` of a chunk overlaps the `present` of chunk 0"));
    EXPECT_THAT(with(more, more_present, extra),
                testing::HasSubstr("the `extra` of a chunk overlaps the `extra` of chunk 0"));
    EXPECT_THAT(with(more, more_present, std::span(data).first(8)),
                testing::HasSubstr("the `extra` of a chunk overlaps the `data` of chunk 0"));
    EXPECT_THAT(with(more, more_present, std::span(more).last(8)),
                testing::HasSubstr("the `data` of a chunk overlaps its `extra`"));
    EXPECT_EQ(ring.chunks(), 1u);
    EXPECT_EQ(with(more, more_present, more_extra), "");
}

TEST(ChunkRing, MemoryThatDoesNotFitIsRefusedWithTheSum) {
    ChunkRing ring(2);
    std::vector<std::byte> data(64), extra(8);
    std::vector<std::uint8_t> present(4);
    const auto with = [&](std::size_t d, std::size_t p, std::size_t e) {
        return spead::test::refusal([&] {
            ring.add(small_layout(), std::span(data).first(d), std::span(present).first(p),
                     std::span(extra).first(e));
        });
    };
    EXPECT_THAT(with(63, 4, 8), testing::HasSubstr("`data` of a chunk has 63 bytes; its placement needs 64"));
    EXPECT_THAT(with(64, 3, 8), testing::HasSubstr("`present` of a chunk has 3"));
    EXPECT_THAT(with(64, 4, 7), testing::HasSubstr("`extra` of a chunk has 7"));
    EXPECT_EQ(with(64, 4, 8), "");
    EXPECT_THAT(with(64, 4, 8), testing::HasSubstr("overlaps the `data` of chunk 0"));
    RingOfChunks full(1);
    std::vector<std::byte> more(64), more_extra(8);
    std::vector<std::uint8_t> more_present(4);
    EXPECT_THROW(full.ring.add(small_layout(), more, more_present, more_extra), UsageError);
    EXPECT_THROW(ChunkRing(0), UsageError);
    EXPECT_THROW(ChunkRing(ChunkRing::kMaxChunks + 1), UsageError);
}

TEST(ChunkRing, ItsDescriptorTellsOfChunksAndOfTheEnd) {
    RingOfChunks r(2);
    ASSERT_TRUE(r.ring.arm());
    EXPECT_FALSE(spead::test::is_readable(r.ring.data_fd()));
    r.ring.hand_over(*r.ring.open());
    r.ring.wake();
    EXPECT_TRUE(spead::test::is_readable(r.ring.data_fd()));
    r.ring.disarm();
    EXPECT_FALSE(r.ring.arm()) << "one waits already";
    r.ring.take();
    EXPECT_FALSE(r.ring.wait(0));
    r.ring.close();
    EXPECT_FALSE(r.ring.wait(-1)) << "closed";
}

TEST(ChunkRing, ThreadsThatGiveTheSameChunkBackAgreeOnOne) {
    RingOfChunks r(1);
    for (int round = 0; round < 200; round++) {
        r.ring.hand_over(*r.ring.open());
        Chunk& chunk = *r.ring.take();
        std::atomic<int> won{0};
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i < 3; i++)
                threads.emplace_back([&] { won += r.ring.give_back(chunk) ? 1 : 0; });
        }
        ASSERT_EQ(won, 1);
        ASSERT_EQ(r.ring.free(), 1u);
    }
}

}  // namespace
}  // namespace spead::chunk
