// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_chunks.hpp"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/no_locking.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::runtime::unit_test {
namespace {

/// Notes the chunks that it gets, and fails at one of them.
class NotingSink : public ChunkSink {
  public:
    void consume_chunk(const chunk::Chunk& chunk) override {
        if (chunk.id == fails_at)
            throw Error("sink", "the disk is full");
        ids.push_back(chunk.id);
    }
    void finish() override { ended = true; }

    std::vector<std::int64_t> ids;
    std::int64_t fails_at = -1;
    std::atomic<bool> ended{false};
};

ReceivePlan plan_with_chunks() {
    ReceivePlan r;
    r.name = "s0";
    r.chunk.emplace().placement = "heap 64; time: item 0x1600 [8]; extra u16: item 0x3102";
    r.chunk->chunks = 4;
    return r;
}

/// Opens the chunk of each id in turn, as an lcore does.
void fill(chunk::Member& member, std::int64_t first, std::int64_t last) {
    for (std::int64_t id = first; id <= last; id++) {
        chunk::Member::Missing missing{};
        while (member.open({.id = id, .anew = id, .source = 1, .can_wait = false, .now = 1}, missing) ==
               nullptr) {
            ASSERT_EQ(missing, chunk::Member::Missing::no_chunk) << id;
            member.boundary();
            std::this_thread::yield();
        }
        member.boundary();
    }
}

TEST(StreamChunks, GivesEveryChunkToTheSinkAndCountsItsWay) {
    const auto sink = std::make_shared<NotingSink>();
    StreamChunks chunks(plan_with_chunks(), 1, sink, {});
    EXPECT_EQ(chunks.counts().buffers, 4U);
    EXPECT_EQ(chunks.counts().buffer_bytes, 512U);
    EXPECT_EQ(chunks.counts().free, 4U);
    EXPECT_FALSE(chunks.counts().at_rest);
    {
        chunk::Member member(chunks.window());
        fill(member, 0, 99);
        member.leave();
    }
    EXPECT_FALSE(chunks.ended()) << "more may come";
    chunks.close();
    while (!chunks.ended())
        std::this_thread::yield();
    ASSERT_EQ(sink->ids.size(), 100U);
    for (std::int64_t id = 0; id < 100; id++)
        EXPECT_EQ(sink->ids[static_cast<std::size_t>(id)], id);
    EXPECT_TRUE(sink->ended);
    const stats::ChunkCounts c = chunks.counts();
    EXPECT_TRUE(c.at_rest);
    EXPECT_EQ(c.opened, 100U);
    EXPECT_EQ(c.handed_over, 100U);
    EXPECT_EQ(c.taken, 100U);
    EXPECT_EQ(c.delivered, 100U);
    EXPECT_EQ(c.unwritten, 0U);
    EXPECT_EQ(c.heaps_expected, 800U);
    // The window began with the first, and ended with those that were open.
    EXPECT_EQ(c.heaps_cut, 3 * 8U);
    EXPECT_EQ(c.heaps_missing, 97 * 8U);
    EXPECT_EQ(c.missing_bytes, 97 * 512U);
    EXPECT_EQ(c.missing_packets, 97 * 8U) << "of which nothing is known: a heap each";
    EXPECT_LE(c.short_of, 98U) << "once for each chunk that was wanted";
    EXPECT_EQ(c.free, 4U);
    EXPECT_EQ(c.open + c.waiting + c.held, 0U);
}

TEST(StreamChunks, ChunksOfASinkThatFailedAreTakenAndCounted) {
    const auto sink = std::make_shared<NotingSink>();
    sink->fails_at = 10;
    StreamChunks chunks(plan_with_chunks(), 1, sink, {});
    {
        chunk::Member member(chunks.window());
        fill(member, 0, 29);
    }
    chunks.close();
    while (!chunks.ended())
        std::this_thread::yield();
    EXPECT_EQ(chunks.counts().delivered, 10U);
    EXPECT_EQ(chunks.counts().unwritten, 20U);
    EXPECT_EQ(chunks.counts().free, 4U);
}

TEST(StreamChunks, NothingIsLeftWhenTheSinkIsDestroyedUnclosed) {
    const auto sink = std::make_shared<NotingSink>();
    { const StreamChunks chunks(plan_with_chunks(), 1, sink, {}); }
    EXPECT_TRUE(sink->ended);
    EXPECT_EQ(sink.use_count(), 1);
}

TEST(StreamChunks, PinnedMemoryIsLockedAndRegisteredUntilTheEnd) {
    ReceivePlan plan = plan_with_chunks();
    plan.chunk->memory = ChunkMemory::pinned;
    std::vector<memory::Region> regions;
    int unregistered = 0;
    const auto pin = [&](const memory::Region& region) {
        regions.push_back(region);
        return std::shared_ptr<const void>(region.base, [&unregistered](const void* base) {
            unsigned char resident = 0;
            EXPECT_EQ(mincore(const_cast<void*>(base), 4096, &resident), 0) << "it is mapped no more";
            unregistered++;
        });
    };
    try {
        const StreamChunks chunks(plan, 1, std::make_shared<NotingSink>(), {}, pin);
        ASSERT_EQ(regions.size(), 1U);
        EXPECT_EQ(regions[0].kind, memory::MemoryKind::pinned);
        EXPECT_GE(regions[0].length, 4U * 4096);
        EXPECT_EQ(unregistered, 0);
    } catch (const Error& e) {
        GTEST_SKIP() << "this process may not lock memory: " << e.what();
    }
    EXPECT_EQ(unregistered, 1);
    plan.chunk->memory = ChunkMemory::host;
    const StreamChunks chunks(plan, 1, std::make_shared<NotingSink>(), {}, pin);
    EXPECT_EQ(regions.size(), 1U) << "host memory needs none of it";
}

TEST(StreamChunks, MemoryForGpusIsRegisteredWithTheirDriverUntilTheEnd) {
    // Loaded by its path, it is found by its name, too.
    void* const driver = dlopen(std::getenv("FAKE_CUDA"), RTLD_NOW | RTLD_GLOBAL);
    ASSERT_NE(driver, nullptr) << dlerror();
    const auto registered = reinterpret_cast<int (*)()>(dlsym(driver, "fake_cuda_live"));
    ReceivePlan plan = plan_with_chunks();
    plan.chunk->memory = ChunkMemory::cuda_pinned;
    try {
        const StreamChunks chunks(plan, 1, std::make_shared<NotingSink>(), {});
        EXPECT_EQ(registered(), 2) << "a context and the memory";
    } catch (const Error& e) {
        GTEST_SKIP() << "this process may not lock memory: " << e.what();
    }
    EXPECT_EQ(registered(), 0);

    const gpu::FakeWish wish("FAKE_CUDA_FAIL", "cuMemHostRegister_v2");
    EXPECT_THAT(test::refusal([&] { StreamChunks(plan, 1, std::make_shared<NotingSink>(), {}); }),
                testing::AllOf(testing::HasSubstr("receive s0: its chunks of `memory = \"cuda_pinned\"`"),
                               testing::HasSubstr("cuMemHostRegister_v2("), testing::HasSubstr("to pinned")));
    EXPECT_EQ(registered(), 0);
}

TEST(StreamChunks, MemoryThatCannotBePinnedIsRefusedWithTheLimitAndTheFix) {
    if (test::kLocksNothing)
        GTEST_SKIP() << "AddressSanitizer makes mlock do nothing";
    const std::string text = test::where_locking_is_limited(64 * 1024, [] {
        ReceivePlan plan = plan_with_chunks();
        plan.chunk->memory = ChunkMemory::pinned;
        try {
            const StreamChunks chunks(plan, 1, std::make_shared<NotingSink>(), {});
            return std::string("was not refused");
        } catch (const Error& e) {
            return std::string(e.what());
        }
    });
    if (memory::Mapping(1).backing() == memory::Mapping::Backing::hugetlb)
        GTEST_SKIP() << "huge pages need no limit";
    EXPECT_THAT(text, testing::AllOf(testing::HasSubstr("receive s0"), testing::HasSubstr("4 chunks x 512 B"),
                                     testing::HasSubstr("RLIMIT_MEMLOCK is 64 KiB"),
                                     testing::HasSubstr("ulimit -l"), testing::HasSubstr("host")));
}

}  // namespace
}  // namespace spead::runtime::unit_test
