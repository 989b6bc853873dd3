// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_chunk_sink.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/file_size_limit.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::FileSizeLimit;
using testing::HasSubstr;

constexpr const char* kFourHeaps = "heap 4; time: item 0x1600 / 4096 [4]; extra u16: item 0x3102 >> 32";

TEST(RawChunkSink, WritesChunksOneAfterTheOtherAndTheirLinesSayWhere) {
    const Directory directory;
    ChunkRig rig(kFourHeaps);
    RawChunkSink sink({directory.file("out")}, "s0", chunk::Placement::parse(kFourHeaps));
    int kept = 0;
    for (const int id : {7, 8}) {
        const auto fill = [id](chunk::Chunk& chunk) {
            std::fill(chunk.data.begin(), chunk.data.end(), static_cast<std::byte>('a' + id));
            std::fill(chunk.extra.begin(), chunk.extra.end(), static_cast<std::byte>('0' + id));
        };
        sink.hand_chunk(rig.chunk(id, {0, 2, 3}, fill), [&kept](bool k) { kept += k ? 1 : 0; });
        sink.settle();
    }
    sink.end();
    EXPECT_EQ(kept, 2);
    const std::string presence("\1\0\1\1", 4);
    EXPECT_EQ(text_of(directory.file("out/s0.raw")),
              std::string(16, 'h') + presence + "77777777" + std::string(16, 'i') + presence + "88888888");
    const auto line = nlohmann::json::parse(lines_of(directory.file("out/chunks.jsonl")).at(1));
    EXPECT_EQ(line["chunk"], 8);
    EXPECT_EQ(line["missing"], (nlohmann::json{{1, 2}}));
    EXPECT_EQ(line["file"], "s0.raw");
    EXPECT_EQ(line["payload"], (nlohmann::json{{"offset", 28}, {"bytes", 16}}));
    EXPECT_EQ(line["presence"], (nlohmann::json{{"offset", 44}, {"bytes", 4}}));
    EXPECT_EQ(line["extra"], (nlohmann::json{{"offset", 48}, {"bytes", 8}}));
}

TEST(RawChunkSink, ALackOfRoomLosesTheChunkAndSaysWhatIsKept) {
    const Directory directory;
    const std::string placement = "heap 4096; time: item 0x1600 [2]";
    ChunkRig rig(placement);
    RawChunkSink sink({directory.path()}, "s0", chunk::Placement::parse(placement));
    const auto nothing = [](chunk::Chunk&) {};
    EXPECT_TRUE(sink.take_chunk(rig.chunk(1, {0, 1}, nothing)));
    {
        const FileSizeLimit limit(12288);
        EXPECT_FALSE(sink.take_chunk(rig.chunk(2, {0, 1}, nothing)));
    }
    EXPECT_THAT(sink.failure(), HasSubstr("s0.raw: cannot write: File too large"));
    EXPECT_THAT(sink.failure(), HasSubstr("the payload of 1 chunk ("));
    int lost = 0;
    sink.hand_chunk(rig.chunk(3, {0, 1}, nothing), [&lost](bool kept) { lost += kept ? 0 : 1; });
    sink.end();
    EXPECT_EQ(lost, 1) << "a sink that failed takes no more";
    EXPECT_EQ(text_of(directory.file("s0.raw")).size(), 8194U);
    EXPECT_EQ(lines_of(directory.file("chunks.jsonl")).size(), 1U);
}

}  // namespace
}  // namespace spead::runtime::unit_test
