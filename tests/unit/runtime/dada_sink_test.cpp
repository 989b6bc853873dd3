// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/dada_sink.hpp"

#include <gmock/gmock.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "runtime/chunk_sink.hpp"
#include "runtime/dada_chunk_sink.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"
#include "tests/unit/runtime/received_heaps.hpp"
#include "tests/unit/sink/dada_rig.hpp"

namespace spead::runtime::unit_test {
namespace {

using sink::test::Reader;
using sink::test::Ring;
using testing::HasSubstr;

/// Holds the rings of a buffer, and the plan of a sink that writes to it.
struct DadaBuffer {
    DadaBuffer(std::uint64_t blocks, std::uint64_t bytes)
        : data(key, blocks, bytes), headers(key + 1, 8, 1024) {
        plan.kind = SinkKind::dada;
        plan.ring = fmt::format("{:x}", key);
    }

    std::uint32_t key = sink::test::free_keys();
    Ring data;
    Ring headers;
    SinkPlan plan;
};

TEST(DadaSink, WritesWholeHeapsAndLosesThemWithoutAFailure) {
    DadaBuffer buffer(3, 8);
    Reader reader(buffer.data);
    Rig rig;
    const auto made = make_sink(buffer.plan, "s0");
    ASSERT_NE(dynamic_cast<DadaSink*>(made.get()), nullptr);
    int kept = 0;
    int lost = 0;
    const auto hand = [&](const Packet& packet) {
        made->hand(heap_of(rig, {packet}), [&](bool k) { (k ? kept : lost)++; });
    };
    hand(Packet(1).whole(8));
    hand(Packet(2).of(100).at(0, 10));
    EXPECT_EQ(kept, 2) << "an incomplete heap is taken, and not written";
    hand(Packet(3).whole(16));
    EXPECT_EQ(kept, 3);
    EXPECT_TRUE(made->losses().empty());
    testing::internal::CaptureStderr();
    hand(Packet(4).whole(8));
    EXPECT_EQ(lost, 1);
    EXPECT_FALSE(made->failed());
    ASSERT_EQ(made->losses().size(), 1U);
    EXPECT_EQ(made->losses()[0].why, "its readers have left no room");
    EXPECT_EQ(reader.all().size(), 24U);
    hand(Packet(5).whole(8));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("1 heap was lost"));
    EXPECT_EQ(kept, 4);
    EXPECT_EQ(reader.all(), "");
    EXPECT_TRUE(reader.ended);
    EXPECT_EQ(reader.block()[0], static_cast<char>(heap::test::pattern(5, 0)));
    made->end();
    EXPECT_FALSE(made->failed());
}

TEST(DadaSink, FailsWhenTheRingIsRemoved) {
    DadaBuffer buffer(3, 8);
    Rig rig;
    DadaSink made(buffer.plan, "s0");
    buffer.data.remove();
    int lost = 0;
    made.hand(heap_of(rig, {Packet(1).whole(8)}), [&](bool k) { lost += k ? 0 : 1; });
    EXPECT_EQ(lost, 1);
    EXPECT_THAT(made.failure(), HasSubstr("semaphores were removed"));
    made.end();
}

TEST(DadaSink, NeedsItsTemplate) {
    DadaBuffer buffer(3, 8);
    buffer.plan.header = "/none/such";
    EXPECT_THAT(spead::test::error_of([&] { DadaSink(buffer.plan, "s0"); }), HasSubstr("/none/such"));
}

constexpr const char* kTwoHeaps = "heap 4; time: item 0x1600 [2]";

TEST(DadaChunkSink, FollowsTheNumbersOfChunks) {
    DadaBuffer buffer(8, 8);
    Reader reader(buffer.data);
    Reader headers(buffer.headers);
    ChunkRig rig(kTwoHeaps);
    DadaChunkSink sink(buffer.plan, "s0", chunk::Placement::parse(kTwoHeaps));
    int kept = 0;
    const auto hand = [&](std::int64_t id, const std::vector<std::size_t>& heaps) {
        const auto fill = [id](chunk::Chunk& c) {
            std::fill(c.data.begin(), c.data.end(), static_cast<std::byte>('a' + id % 26));
        };
        sink.hand_chunk(rig.chunk(id, heaps, fill), [&](bool k) { kept += k ? 1 : 0; });
    };
    hand(26, {0, 1});
    hand(27, {1});
    hand(29, {0, 1});
    hand(3, {0, 1});
    EXPECT_EQ(kept, 4);
    EXPECT_EQ(reader.all(), std::string("aaaa"
                                        "aaaa"
                                        "\0\0\0\0"
                                        "bbbb",
                                        16))
        << "zeros for what is missing";
    EXPECT_EQ(reader.all(), "dddddddd");
    EXPECT_EQ(reader.all(), "dddddddd");
    EXPECT_THAT(headers.block(), HasSubstr("OBS_OFFSET           0\n"));
    EXPECT_THAT(headers.block(), HasSubstr("OBS_OFFSET           24\n"));
    EXPECT_THAT(headers.block(), HasSubstr("OBS_OFFSET           0\n")) << "time went back";
}

TEST(DadaChunkSink, WithAStartOfItsTemplateCountsFromChunkZero) {
    const Directory directory;
    DadaBuffer buffer(8, 8);
    Reader headers(buffer.headers);
    buffer.plan.header = directory.file("header");
    std::ofstream(buffer.plan.header) << "UTC_START 2020-01-01-00:00:00\n";
    ChunkRig rig(kTwoHeaps);
    DadaChunkSink sink(buffer.plan, "s0", chunk::Placement::parse(kTwoHeaps));
    sink.consume_chunk(rig.chunk(5, {0, 1}, [](chunk::Chunk&) {}));
    const std::string header = headers.block();
    EXPECT_THAT(header, HasSubstr("OBS_OFFSET           40\n"));
    EXPECT_THAT(header, HasSubstr("UTC_START            2020-01-01-00:00:00\n"));
    EXPECT_THAT(header, HasSubstr("RESOLUTION           8\n"));
}

TEST(DadaChunkSink, IsMadeForAPlanAndRefusesASmallRing) {
    DadaBuffer buffer(2, 4);
    ReceivePlan plan;
    plan.name = "s0";
    plan.sink = buffer.plan;
    plan.chunk.emplace().placement = kTwoHeaps;
    EXPECT_THAT(spead::test::error_of([&] { make_chunk_sink(plan); }), HasSubstr("a chunk has 8 bytes"));
    plan.chunk->placement = "heap 2; time: item 0x1600 [2]";
    EXPECT_NE(dynamic_cast<DadaChunkSink*>(make_chunk_sink(plan).get()), nullptr);
}

}  // namespace
}  // namespace spead::runtime::unit_test
