// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/zarr_sink.hpp"

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

constexpr const char* kFourInAnArray = "heap 4; time: item 0x1600 / 4096 [4]; extra u16: item 0x3102 >> 32";

ZarrContent content_of(const std::string& placement) {
    return {.placement = chunk::Placement::parse(placement)};
}

TEST(ZarrSink, WritesChunksAndFillsWhatIsMissing) {
    const Directory directory;
    ChunkRig rig(kFourInAnArray);
    int kept = 0;
    {
        ZarrSink sink(directory.file("out"), "s0", content_of(kFourInAnArray));
        for (const int id : {7, 8}) {
            const auto fill = [id](chunk::Chunk& chunk) {
                std::fill(chunk.data.begin(), chunk.data.end(), static_cast<std::byte>('a' + id));
                std::fill(chunk.extra.begin(), chunk.extra.end(), static_cast<std::byte>('0' + id));
            };
            sink.hand_chunk(rig.chunk(id, {0, 2, 3}, fill), [&kept](bool k) { kept += k ? 1 : 0; });
        }
        sink.end();
        EXPECT_FALSE(sink.failed()) << sink.failure();
    }
    EXPECT_EQ(kept, 2);
    const std::string missing(4, '\0');
    EXPECT_EQ(text_of(directory.file("out/s0/data/0.0")), "hhhh" + missing + "hhhhhhhh");
    EXPECT_EQ(text_of(directory.file("out/s0/data/1.0")), "iiii" + missing + "iiiiiiii");
    EXPECT_EQ(text_of(directory.file("out/s0/presence/1")), std::string("\1\0\1\1", 4));
    EXPECT_EQ(text_of(directory.file("out/s0/extra/1")), "88888888");
}

TEST(ZarrSink, AChunkWithoutAPlaceIsLostAndTheSinkGoesOn) {
    const Directory directory;
    ChunkRig rig(kFourInAnArray);
    ZarrSink sink(directory.file("out"), "s0", content_of(kFourInAnArray));
    std::vector<bool> kept;
    for (const int id : {7, 7, 3, 9})
        sink.hand_chunk(rig.chunk(id, {0}, [](chunk::Chunk&) {}), [&kept](bool k) { kept.push_back(k); });
    sink.settle();
    EXPECT_THAT(kept, testing::ElementsAre(true, false, false, true));
    EXPECT_FALSE(sink.failed());
    ASSERT_EQ(sink.losses().size(), 1U);
    EXPECT_EQ(sink.losses()[0].why, "chunk 3 has no place: the arrays begin with a later chunk");
    EXPECT_EQ(sink.losses()[0].lack, Sink::Lack::place);
}

TEST(ZarrSink, ALackOfRoomLosesTheChunkAndLeavesNothingOfIt) {
    const Directory directory;
    const std::string placement = "heap 4096; time: item 0x1600 [2]";
    ChunkRig rig(placement);
    ZarrSink sink(directory.path(), "s0", content_of(placement));
    const auto nothing = [](chunk::Chunk&) {};
    EXPECT_TRUE(sink.take_chunk(rig.chunk(1, {0, 1}, nothing)));
    {
        const FileSizeLimit limit(4096);
        EXPECT_FALSE(sink.take_chunk(rig.chunk(2, {0, 1}, nothing)));
    }
    EXPECT_THAT(sink.failure(), HasSubstr("/s0: cannot write: File too large"));
    EXPECT_THAT(sink.failure(), HasSubstr("the payload of 1 chunk ("));
    int lost = 0;
    sink.hand_chunk(rig.chunk(3, {0, 1}, nothing), [&lost](bool kept) { lost += kept ? 0 : 1; });
    sink.end();
    EXPECT_EQ(lost, 1) << "a sink that failed takes no more";
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("s0/.parts")));
    EXPECT_FALSE(std::filesystem::exists(directory.file("s0/data/1.0")));
    EXPECT_EQ(nlohmann::json::parse(text_of(directory.file("s0/data/.zarray")))["shape"][0], 2);
}

}  // namespace
}  // namespace spead::runtime::unit_test
