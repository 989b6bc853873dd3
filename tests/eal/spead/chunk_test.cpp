// SPDX-License-Identifier: BSD-3-Clause
#include "spead/chunk.hpp"

#include <array>
#include <cstdlib>
#include <gmock/gmock.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/eal/spead/chunk_rig.hpp"

namespace spead::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ChunkStream, FillsChunksUntilAStopItem) {
    const Process process(config());
    ChunkRing ring(process, 4);
    ring.add(placement(), 4);
    ChunkStream stream(process, chunk_config(), placement(), ring, {.window = 2, .stream = 7});
    std::thread sending([&] {
        ChunkSender sender(process);
        sender.send_chunks(0, 20);
        sender.send_stop();
    });
    std::int64_t next = 0;
    std::uint64_t before = 0;
    for (const ChunkPtr& chunk : ring) {
        EXPECT_EQ(chunk->id, next++);
        EXPECT_EQ(chunk->stream, 7U);
        EXPECT_TRUE(chunk->complete());
        EXPECT_LE(before, chunk->first_time);
        EXPECT_LE(chunk->first_time, chunk->last_time);
        before = chunk->first_time;
        expect_right(*chunk);
    }
    sending.join();
    EXPECT_EQ(next, 20);
    EXPECT_GT(before, 1'600'000'000'000'000'000U);
    EXPECT_TRUE(ring.ended());
    EXPECT_FALSE(ring.get());
    const ChunkStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.chunks_taken, 20U);
    EXPECT_EQ(s.chunks_opened, 20U);
    EXPECT_EQ(s.heaps_present, 20 * kHeaps);
    EXPECT_EQ(s.packets_lost, 0U);
    EXPECT_EQ(ring.counts().free, 4U);

    // Again, after the end, and from time 0.
    stream.start();
    EXPECT_FALSE(ring.ended());
    ChunkSender sender(process);
    sender.send_chunks(3, 1);
    sender.send_stop();
    const ChunkPtr again = ring.get();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->id, 3);
    expect_right(*again);
    EXPECT_FALSE(ring.get());
    EXPECT_EQ(ring.counts().held, 1U);
    EXPECT_EQ(stream.stats().chunks_taken, 21U);
}

TEST(ChunkStream, FillsTheUsersBuffersOnSeveralLcores) {
    constexpr std::uint64_t kChunks = 12;
    Process process(config());
    const Placement p = placement();
    struct Buffers {
        std::vector<std::byte> data, extra;
        std::vector<std::uint8_t> present;
    };
    std::array<Buffers, kChunks + 1> all;
    std::vector<ChunkPtr> held;
    {
        ChunkRing ring(process, all.size());
        for (Buffers& b : all) {
            b.data.resize(p.bytes());
            b.present.resize(p.present_bytes(), 9);
            b.extra.resize(p.extra_bytes());
            ring.add(p, b.data, b.present, b.extra, &b);
        }
        RecvConfig c = ring_config();
        c.lcores = config().lcores;
        // However far apart the lcores are, no chunk leaves the window.
        ChunkStream stream(process, c, p, ring, {.window = kChunks});
        ChunkSender sender(process);
        sender.send_chunks(0, kChunks);
        while (stream.stats().bytes < kChunks * kHeaps * kHeap)
            std::this_thread::yield();
        stream.stop();
        while (ChunkPtr chunk = ring.get())
            held.push_back(std::move(chunk));
        EXPECT_TRUE(ring.ended());
        const ChunkStats s = stream.stats();
        expect_sums(s);
        EXPECT_EQ(s.chunks_opened, s.chunks_taken);
        EXPECT_EQ(s.packets_placed, s.packets);
        EXPECT_EQ(s.chunks_complete, kChunks);
    }
    process.stop();
    EXPECT_EQ(held.size(), kChunks);
    std::set<void*> users;
    for (const ChunkPtr& chunk : held) {
        expect_right(*chunk);
        auto* const b = static_cast<Buffers*>(chunk->user);
        EXPECT_EQ(chunk->data.data(), b->data.data());
        users.insert(b);
    }
    EXPECT_EQ(users.size(), kChunks);
    std::thread([chunks = std::move(held)]() mutable { chunks.clear(); }).join();
}

TEST(ChunkStream, KeepsTheMemoryThatItsChunksLieIn) {
    const Process process(config());
    const Placement p = placement();
    const std::size_t each = p.bytes() + p.present_bytes() + p.extra_bytes();
    constexpr std::size_t kBytes = std::size_t{1} << 20;
    constexpr std::size_t kPage = 4096;
    ASSERT_LE(4 * each, kBytes);
    struct Free {
        void operator()(void* p) const noexcept { std::free(p); }
    };
    const std::unique_ptr<std::byte, Free> buffer(static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes)));
    const auto again = [&] { return Memory(process, buffer.get(), kBytes); };
    ChunkPtr kept;
    std::optional<ChunkStream> stream;
    {
        ChunkRing ring(process, 4);
        {
            const Memory memory = again();
            std::vector<std::byte> elsewhere(p.bytes());
            for (std::size_t i = 0; i < 4; i++) {
                const std::span<std::byte> all = memory.bytes().subspan(i * each, each);
                const std::span<std::uint8_t> present(reinterpret_cast<std::uint8_t*>(all.data() + p.bytes()),
                                                      p.present_bytes());
                expect_usage_error(
                    [&] { ring.add(p, memory, elsewhere, present, all.last(p.extra_bytes())); },
                    {"does not lie in the memory"});
                ring.add(p, memory, all.first(p.bytes()), present, all.last(p.extra_bytes()));
            }
        }
        stream.emplace(process, chunk_config(), p, ring, ChunkConfig{.window = 2});
        ChunkSender sender(process);
        for (std::uint64_t i = 0; i < 8; i++) {
            sender.send_chunks(i, 1);
            if (i < 2)
                continue;
            kept = ring.get();
            ASSERT_TRUE(kept);
            expect_right(*kept);
        }
        expect_passing_error(again, {"overlaps", "registered already"});
    }
    expect_passing_error(again, {"overlaps", "registered already"});
    stream.reset();
    expect_passing_error(again, {"overlaps", "registered already"});
    expect_right(*kept);
    kept.reset();
    EXPECT_EQ(again().bytes().size(), kBytes) << "nothing keeps it any more";
}

TEST(ChunkStream, CountsPacketsWhenTheUserKeepsAllChunks) {
    const Process process(config());
    std::vector<ChunkPtr> held;
    {
        ChunkRing ring(process, 3);
        ring.add(placement(), 3);
        RecvConfig c = ring_config();
        c.on_full = OnFull::drop_newest;
        ChunkStream stream(process, c, placement(), ring, {.window = 2});
        ChunkSender sender(process);
        sender.send_chunks(0, 8);
        for (ChunkStats s = stream.stats(); s.packets_no_chunk == 0; s = stream.stats()) {
            while (ChunkPtr chunk = ring.try_get())
                held.push_back(std::move(chunk));
            std::this_thread::yield();
        }
        const ChunkStats s = stream.stats();
        expect_sums(s);
        EXPECT_EQ(s.packets_lost, 0U);
        EXPECT_LE(s.chunks_opened, 3U);
        // It goes on with the chunks that come back.
        held.clear();
        stream.stop();
        while (ring.get()) {
        }
        stream.start();
        sender.send_chunks(20, 1);
        sender.send_chunks(22, 1);
        const ChunkPtr chunk = ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, 20);
        expect_right(*chunk);
    }
}

TEST(ChunkStream, EndsWhileItsSourceWaitsForChunksThatTheUserKeeps) {
    Process process(config());
    std::vector<ChunkPtr> held;
    ChunkRing ring(process, 3);
    ring.add(placement(), 3);
    std::optional<ChunkStream> stream;
    stream.emplace(process, ring_config(), placement(), ring);
    ChunkSender sender(process);
    // The port's ring has room for these.
    sender.send_chunks(0, 5);
    while (held.size() < 2)
        if (ChunkPtr chunk = ring.get_for(20s))
            held.push_back(std::move(chunk));
    while (ring.counts().free != 0)
        std::this_thread::yield();
    EXPECT_EQ(stream->stats().packets_no_chunk, 0U);
    stream.reset();
    while (ChunkPtr chunk = ring.get())
        held.push_back(std::move(chunk));
    EXPECT_TRUE(ring.ended());
    for (const ChunkPtr& chunk : held)
        expect_right(*chunk);
}

TEST(ChunkRing, IsFilledBySeveralStreams) {
    const Process process(config());
    ChunkRing ring(process, 8);
    ring.add(placement(), 8);
    RecvConfig other = chunk_config();
    other.endpoints = {"239.1.2.4:7148"};
    ChunkStream first(process, chunk_config(), placement(), ring, {.stream = 1});
    ChunkStream second(process, other, placement(), ring, {.stream = 2});
    std::thread sending([&] {
        ChunkSender one(process);
        ChunkSender two(process, "239.1.2.4:7148");
        for (std::uint64_t id = 0; id < 6; id++) {
            one.send_chunks(id, 1);
            two.send_chunks(id + 50, 1);
        }
        one.send_stop();
        two.send_stop();
    });
    std::array<std::vector<std::int64_t>, 3> ids;
    for (const ChunkPtr& chunk : ring) {
        expect_right(*chunk);
        ids[chunk->stream].push_back(chunk->id);
    }
    sending.join();
    EXPECT_THAT(ids[1], testing::ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(ids[2], testing::ElementsAre(50, 51, 52, 53, 54, 55));
    EXPECT_EQ(first.stats().chunks_taken, 6U);
    EXPECT_EQ(second.stats().chunks_taken, 6U);
}

TEST(ChunkRing, HasADescriptorAndCanBeStopped) {
    Process process(config());
    ChunkRing ring(process, 3);
    ring.add(placement(), 3);
    ChunkStream stream(process, chunk_config(), placement(), ring);
    EXPECT_FALSE(ring.try_get());
    pollfd p{ring.fd(), POLLIN, 0};
    EXPECT_EQ(poll(&p, 1, 0), 0);
    EXPECT_FALSE(ring.get_for(1ms));
    ChunkSender sender(process);
    sender.send_chunks(0, 3);
    ASSERT_EQ(poll(&p, 1, 20'000), 1);
    ChunkPtr chunk = ring.try_get();
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->id, 0);
    ChunkPtr moved = std::move(chunk);
    EXPECT_FALSE(chunk);  // NOLINT(bugprone-use-after-move): what a move leaves is what is tested
    chunk.reset();
    EXPECT_EQ(ring.counts().held, 1U);
    moved.reset();
    moved.reset();
    EXPECT_EQ(ring.counts().held, 0U);
    EXPECT_EQ(ring.counts().chunks, 3U);
    std::thread waiting([&ring] {
        while (ring.get()) {
        }
    });
    ring.stop();
    waiting.join();
    EXPECT_TRUE(ring.ended());
    EXPECT_EQ(poll(&p, 1, 0), 1) << "the end stays readable";
    process.stop();
    EXPECT_FALSE(ring.get());
}

TEST(ChunkRing, EndsWithTheSession) {
    Process process(config());
    ChunkRing ring(process, 3);
    ChunkRing without(process, 3);
    ring.add(placement(), 3);
    const ChunkStream stream(process, chunk_config(), placement(), ring);
    std::thread waiting([&] {
        EXPECT_FALSE(ring.get());
        EXPECT_FALSE(without.get());
    });
    process.stop();
    waiting.join();
    EXPECT_TRUE(ring.ended());
    EXPECT_TRUE(without.ended());
}

TEST(ChunkRing, RefusesBuffersThatDoNotSuitThePlacement) {
    const Process process(config());
    EXPECT_THAT(refusal([&] { ChunkRing(process, 0); }), HasSubstr("0 chunks: a ring has 1 to 65536"));
    ChunkRing ring(process, 3);
    const Placement p = placement();
    std::vector<std::byte> data(p.bytes()), extra(p.extra_bytes());
    std::vector<std::uint8_t> present(p.present_bytes());
    const auto add = [&](std::size_t d, std::size_t n, std::size_t e) {
        return refusal([&] {
            ring.add(p, std::span(data).first(d), std::span(present).first(n), std::span(extra).first(e));
        });
    };
    EXPECT_THAT(add(data.size() - 1, present.size(), extra.size()),
                HasSubstr("`data` of a chunk has 131071 bytes; its placement needs 131072"));
    EXPECT_THAT(add(data.size(), present.size() - 1, extra.size()), HasSubstr("`present`"));
    EXPECT_THAT(add(data.size(), present.size(), extra.size() - 1), HasSubstr("`extra`"));
    EXPECT_THAT(refusal([&] { ring.add(p, {}, {}); }), HasSubstr("null"));
    ring.add(p, data, present, extra);
    EXPECT_THAT(add(data.size(), present.size(), extra.size()), HasSubstr("overlaps"));
    Placement larger(kHeap);
    larger.time(item(0x1600) / kStep, kTimes);
    EXPECT_THAT(refusal([&] { ring.add(larger, 1); }), HasSubstr("use another ring"));
    EXPECT_THAT(refusal([&] { ChunkStream(process, ring_config(), larger, ring); }),
                HasSubstr("use another ring"));
    EXPECT_THAT(refusal([&] { ChunkStream(process, ring_config(), p, ring); }), HasSubstr("1 was added"));
    EXPECT_THAT(refusal([&] { ring.add(p, 3); }), HasSubstr("room for 3"));
    ring.add(p, 2);
    RecvConfig c = ring_config();
    c.lend = 1;
    EXPECT_THAT(refusal([&] { ChunkStream(process, c, p, ring); }), HasSubstr("`lend`"));
    const ChunkStream stream(process, ring_config(), p, ring);
    EXPECT_THAT(refusal([&] { ring.add(p, 1); }), HasSubstr("cannot be added"));
    const ChunkRing moved = std::move(ring);
    EXPECT_THAT(refusal([&] { ring.try_get(); }),  // NOLINT(bugprone-use-after-move)
                HasSubstr("was moved"));
    EXPECT_EQ(moved.counts().chunks, 3U);
}

TEST(PublicPlacement, IsBuiltAndParsed) {
    const Placement p = placement();
    EXPECT_EQ(p.heaps(), kHeaps);
    EXPECT_EQ(p.bytes(), kHeaps * kHeap);
    EXPECT_EQ(p.present_bytes(), kHeaps);
    EXPECT_EQ(p.extra_bytes(), kHeaps * 2);
    EXPECT_EQ(Placement::parse(p.text()).text(), p.text());
    EXPECT_THAT(p.text(), HasSubstr("axis polarisation: item 0x3101 & 0x1 [2]"));
    EXPECT_THAT(p.explain(), HasSubstr("polarisation"));
    Placement all(65536);
    all.axis("ant", item(0x4101).in({3, 5}), 2)
        .axis("beam", constant(1), 2)
        .axis("path", endpoint(), 2)
        .time(floor(heap_count() / 3), 128, 512)
        .axis("chan", ((item(0x4103) >> 4 & 0xfff) - 1024) / 256, 4)
        .packet_presence(1024)
        .tracked();
    all.wrap(40);
    Placement copy(1);
    copy = all;
    EXPECT_THAT(refusal([&] { copy.heaps(); }), HasSubstr("lie 512 bytes apart, and each takes 65536"));
    Placement with_rows(65536);
    with_rows.axis("ant", item(0x4101), 80).time(item(0x1600) / 2097152, 128, 512).rows(512, 65536);
    EXPECT_EQ(with_rows.bytes(), std::uint64_t{80} * 128 * 65536);
    EXPECT_EQ(with_rows.text(),
              Placement::parse("heap 65536; axis ant: item 0x4101 [80]; "
                               "time: item 0x1600 / 2097152 [128] by 512; rows 512 by 65536")
                  .text());
}

TEST(PublicPlacement, RefusesWhatIsNotPossible) {
    EXPECT_THAT(refusal([] { Placement(8).heaps(); }), HasSubstr("0 axes"));
    EXPECT_THAT(refusal([] { Placement(8).time(item(0x1600) / 0, 4).bytes(); }), HasSubstr("steps of 0"));
    EXPECT_THAT(refusal([] { Placement(8).axis("a b", item(0x1600), 4).bytes(); }), HasSubstr("`a b`"));
    EXPECT_THAT(refusal([] { (item(5) & 1) >> 2; }), HasSubstr("`>>` after `&`"));
    EXPECT_THAT(refusal([] { item(5) / 2 - 1; }), HasSubstr("`-` after `/`"));
    EXPECT_THAT(refusal([] { item(5).in({}); }), HasSubstr("empty list"));
    EXPECT_THAT(refusal([] { Placement(8).axis("a", constant(1) / 2, 4); }), HasSubstr("constant 1"));
    EXPECT_THAT(refusal([] { Placement::parse("heap 8; tim"); }), HasSubstr("tim"));
    Placement gone(8);
    const Placement taken = std::move(gone);
    EXPECT_THAT(refusal([&] { gone.heaps(); }), HasSubstr("was moved"));  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace spead::test
