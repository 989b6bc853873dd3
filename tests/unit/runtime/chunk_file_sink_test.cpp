// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_file_sink.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/file_size_limit.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/chunk_rig.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::FileSizeLimit;
using spead::test::refusal;
using testing::HasSubstr;

constexpr const char* kEightHeaps =
    "heap 4; axis pol: item 0x3101 & 1 [2]; time: item 0x1600 / 4096 [4]; extra u16: item 0x3102 >> 32";

void letters(chunk::Chunk& chunk) {
    for (std::size_t i = 0; i < chunk.data.size(); i++)
        chunk.data[i] = static_cast<std::byte>('a' + i / 4);
    for (std::size_t i = 0; i < chunk.extra.size(); i++)
        chunk.extra[i] = static_cast<std::byte>('0' + i / 2);
}

nlohmann::json last_line(const Directory& directory) {
    std::string text = text_of(directory.file("out/chunks.jsonl"));
    text.pop_back();
    return nlohmann::json::parse(text.substr(text.rfind('\n') + 1));
}

TEST(ChunkFileSink, WritesPayloadPresenceAndExtraValuesAndALineThatSaysWhere) {
    const Directory directory;
    ChunkRig rig(kEightHeaps);
    ChunkFileSink sink(directory.file("out"), "s0", chunk::Placement::parse(kEightHeaps));
    sink.consume_chunk(rig.chunk(7, {0, 1, 2, 6}, letters));
    sink.finish();
    const std::string file = text_of(directory.file("out/s0-chunk-7.bin"));
    EXPECT_EQ(file, std::string("aaaabbbbccccddddeeeeffffgggghhhh") + std::string("\1\1\1\0\0\0\1\0", 8) +
                        "0011223344556677");
    const nlohmann::json line = last_line(directory);
    EXPECT_EQ(line["stream"], "s0");
    EXPECT_EQ(line["chunk"], 7);
    EXPECT_EQ(line["complete"], false);
    EXPECT_EQ(line["heaps"], (nlohmann::json{{"present", 4}, {"expected", 8}}));
    EXPECT_EQ(line["missing"], (nlohmann::json{{3, 6}, {7, 8}}));
    EXPECT_EQ(line["file"], "s0-chunk-7.bin");
    EXPECT_EQ(line["payload"], (nlohmann::json{{"offset", 0}, {"bytes", 32}}));
    EXPECT_EQ(line["presence"], (nlohmann::json{{"offset", 32}, {"bytes", 8}}));
    EXPECT_EQ(line["extra"], (nlohmann::json{{"offset", 40}, {"bytes", 16}}));
    EXPECT_EQ(chunk::Placement::parse(line["placement"].get<std::string>()),
              chunk::Placement::parse(kEightHeaps));
}

TEST(ChunkFileSink, OverwritesNoFile) {
    const Directory directory;
    ChunkRig rig(kEightHeaps);
    for (int run = 0; run < 2; run++) {
        ChunkFileSink sink(directory.file("out"), "s0", chunk::Placement::parse(kEightHeaps));
        sink.consume_chunk(rig.chunk(7, {0, 1, 2, 3, 4, 5, 6, 7}, letters));
    }
    EXPECT_EQ(last_line(directory)["file"], "s0-chunk-7-2.bin");
    EXPECT_EQ(last_line(directory)["complete"], true);
    EXPECT_EQ(last_line(directory)["missing"], nlohmann::json::array());
    EXPECT_EQ(text_of(directory.file("out/s0-chunk-7.bin")), text_of(directory.file("out/s0-chunk-7-2.bin")));
}

/// Tests that a line stays short whatever is missing.
TEST(ChunkFileSink, NamesNoRangesWhenThereAreTooMany) {
    const Directory directory;
    const std::string placement = "heap 1; time: item 0x1600 [4096]";
    ChunkRig rig(placement);
    ChunkFileSink sink(directory.file("out"), "s0", chunk::Placement::parse(placement));
    std::vector<std::size_t> heaps;
    for (std::size_t i = 0; i < 2 * ChunkLine::kMostRanges; i += 2)
        heaps.push_back(i + 1);
    sink.consume_chunk(rig.chunk(0, heaps, [](chunk::Chunk&) {}));
    EXPECT_EQ(last_line(directory)["missing"], nullptr);
    heaps.erase(heaps.begin());
    sink.consume_chunk(rig.chunk(1, heaps, [](chunk::Chunk&) {}));
    EXPECT_EQ(last_line(directory)["missing"].size(), ChunkLine::kMostRanges);
}

TEST(ChunkFileSink, ALackOfRoomRemovesTheFileAndSaysWhatIsKept) {
    const Directory directory;
    const std::string placement = "heap 4096; time: item 0x1600 [2]";
    ChunkRig rig(placement);
    ChunkFileSink sink(directory.file("out"), "s0", chunk::Placement::parse(placement));
    const auto nothing = [](chunk::Chunk&) {};
    EXPECT_TRUE(sink.take_chunk(rig.chunk(1, {0, 1}, nothing)));
    {
        const FileSizeLimit limit(6000);
        EXPECT_FALSE(sink.take_chunk(rig.chunk(2, {0, 1}, nothing)));
    }
    EXPECT_THAT(sink.failure(), HasSubstr("s0-chunk-2.bin: cannot write"));
    EXPECT_THAT(sink.failure(), HasSubstr("1 chunk ("));
    EXPECT_EQ(access(directory.file("out/s0-chunk-2.bin").c_str(), F_OK), -1) << "the half file was removed";
    EXPECT_FALSE(sink.take_chunk(rig.chunk(3, {0, 1}, nothing))) << "a sink that failed takes no more";
}

TEST(ChunkFileSink, ADirectoryThatCannotBeMadeIsRefused) {
    EXPECT_THAT(refusal([] {
                    const ChunkFileSink sink("/nonexistent/a/b", "s0", chunk::Placement::parse(kEightHeaps));
                }),
                HasSubstr("cannot make this directory for chunks"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
