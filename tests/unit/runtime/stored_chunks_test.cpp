// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_chunks.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "runtime/indexed_chunks.hpp"
#include "runtime/stored_files.hpp"
#include "runtime/zarr_store.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::error_of;
using testing::HasSubstr;

// Two channels by three times, in two rows of 4 bytes: rows of a channel's times lie together.
constexpr const char* kStoredPlacement =
    "heap 8; axis chan: item 0x1000 - 10 / 5 [2]; time: item 0x1600 / 256 [3] by 4; rows 4 by 12; extra u64: "
    "heap";
constexpr const char* kStoredPresence = "\1\1\0\1\1\1";

/// Returns the line of a chunk in s0.raw: 48 bytes of payload, then 6 of presence, then 6 extra values of 8.
std::string line_of_chunk(const std::string& change = "", const std::string& to = "",
                          std::uint64_t chunk = 7) {
    std::string text =
        fmt::format(R"({{"stream":"s0","chunk":{},"complete":false,"file":"s0.raw",)"
                    R"("payload":{{"offset":0,"bytes":48}},"presence":{{"offset":48,"bytes":6}},)"
                    R"("extra":{{"offset":54,"bytes":48}},"placement":"{}"}})"
                    "\n",
                    chunk, kStoredPlacement);
    if (!change.empty())
        text.replace(text.find(change), change.size(), to);
    return text;
}

struct StoredIn {
    explicit StoredIn(const std::string& lines) {
        std::ofstream(directory.file("chunks.jsonl")) << lines;
        std::string bytes(48, '\0');
        for (std::size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<char>(i);
        bytes.append(kStoredPresence, 6);
        for (char cnt = 5; cnt < 11; cnt++)
            bytes += cnt + std::string(7, '\0');
        std::ofstream(directory.file("s0.raw")) << bytes;
    }
    std::unique_ptr<StoredStream> open(unsigned bits = 48) const {
        return StoredStream::open(directory.path(), wire::Flavour(bits));
    }
    std::string fault(unsigned bits = 48) const {
        return error_of([&] { open(bits)->check(); });
    }
    Directory directory;
};

TEST(StoredChunks, TakesAChunkApart) {
    const StoredIn stored(line_of_chunk());
    const auto stream = stored.open();
    const StoredStream::Sum sum = stream->check();
    EXPECT_EQ(sum.heaps, 5U);
    EXPECT_EQ(sum.incomplete, 1U);
    EXPECT_EQ(sum.largest, 8U);
    EXPECT_EQ(sum.stream, "s0");
    EXPECT_THAT(stream->left_out(sum), HasSubstr("1 heap of the chunks"));
    std::vector<std::string> seen;
    StoredHeap heap;
    std::vector<std::byte> payload(16);
    while (stream->next(heap)) {
        stream->read(heap, payload);
        std::string text = fmt::format("cnt {}:", heap.cnt);
        for (const StoredHeap::Item& item : heap.items)
            text += item.immediate ? fmt::format(" {:x}={}", item.id, item.value)
                                   : fmt::format(" {:x}:{}+{}", item.id, item.offset, item.length);
        text += " bytes";
        for (std::size_t i = 0; i < 8; i++)
            text += fmt::format(" {}", static_cast<int>(payload[i]));
        seen.push_back(text);
    }
    // Channel 0 has no third time. The count is the extra value's, and item 0x1000 is in use.
    EXPECT_THAT(seen,
                testing::ElementsAre("cnt 5: 1001:0+8 1000=10 1600=5376 bytes 0 1 2 3 12 13 14 15",
                                     "cnt 8: 1001:0+8 1000=15 1600=5376 bytes 24 25 26 27 36 37 38 39",
                                     "cnt 6: 1001:0+8 1000=10 1600=5632 bytes 4 5 6 7 16 17 18 19",
                                     "cnt 9: 1001:0+8 1000=15 1600=5632 bytes 28 29 30 31 40 41 42 43",
                                     "cnt 10: 1001:0+8 1000=15 1600=5888 bytes 32 33 34 35 44 45 46 47"));
    stream->rewind();
    EXPECT_TRUE(stream->next(heap));
    EXPECT_EQ(heap.cnt, 5U);
}

TEST(StoredChunks, CountHeapsFromOneWhereThePlacementDoesNot) {
    const std::string plain = line_of_chunk("; extra u64: heap", "");
    const StoredIn stored(plain + plain);
    const auto stream = stored.open();
    EXPECT_EQ(stream->check().heaps, 10U);
    StoredHeap heap;
    for (std::uint64_t cnt = 1; stream->next(heap); cnt++)
        EXPECT_EQ(heap.cnt, cnt);
    EXPECT_EQ(heap.cnt, 10U);
}

TEST(StoredChunks, RefuseBrokenLines) {
    struct Case {
        std::string lines;
        const char* says;
    };
    for (const Case& c :
         {Case{"{}\n", ":1: `file` is no text"}, Case{"[]\n", "no object of JSON"},
          Case{line_of_chunk() + line_of_chunk("s0.raw", "../x"), ":2: `../x` is no name"},
          Case{line_of_chunk("\n", ""), "has no end"},
          Case{line_of_chunk("\"chunk\":7", "\"chunk\":-7"), "`chunk` is no number"},
          Case{line_of_chunk("\"chunk\":7", "\"chunk\":9223372036854775808"), "no chunk has the number"},
          Case{line_of_chunk("s0.raw", "s1.raw"), "cannot read s1.raw"},
          Case{line_of_chunk("heap 8", "heap 9"), "rows"}, Case{line_of_chunk("heap 8", "heap"), "placement"},
          Case{line_of_chunk("\"bytes\":48", "\"bytes\":47"), "`payload` has 47"},
          Case{line_of_chunk("\"offset\":48", "\"offset\":97"), "the presence has bytes 97 to 103 of s0.raw"},
          Case{line_of_chunk("\"offset\":0", "\"offset\":18446744073709551615"), "it was cut"},
          Case{line_of_chunk("\"payload\":{", "\"payload\":7,\"x\":{"), "`payload` is no object"},
          Case{line_of_chunk("extra u64: heap", "extra u16: heap"),
               "`extra` has 48 bytes, and the placement 12"},
          Case{line_of_chunk() + line_of_chunk("\"s0\"", "\"s1\""), "chunks of two streams, `s0` and `s1`"},
          Case{line_of_chunk("item 0x1000 - 10 / 5 [2]", "heap & 7 // 4 [2]"), "two heaps have the count"},
          Case{line_of_chunk("item 0x1000 - 10 / 5 [2]", "item 0x1000 & 8 {0, 9}"), "placement"},
          Case{line_of_chunk("item 0x1000 - 10 / 5 [2]", "item 0x1000 & 1 / 5 [2]"),
               "no packet has the place"}}) {
        const StoredIn stored(c.lines);
        EXPECT_THAT(stored.fault(), HasSubstr(c.says)) << c.lines;
    }
    EXPECT_THAT(StoredIn("").fault(), HasSubstr("no chunk with a complete heap"));
}

TEST(StoredChunks, RefuseValuesThatTheFlavourHasNoBitsFor) {
    const StoredIn stored(line_of_chunk("\"chunk\":7", "\"chunk\":6000000"));
    EXPECT_EQ(stored.open()->check().heaps, 5U);
    EXPECT_THAT(stored.fault(32), HasSubstr("the value 4608000000 is above 4294967295"));
}

TEST(StoredStream, IsFoundWithTheNameOfItsSinkOrWithout) {
    const StoredIn stored(line_of_chunk());
    for (const std::string& from :
         {stored.directory.path(), "raw:" + stored.directory.path(), stored.directory.file("s0.raw"),
          "raw:" + stored.directory.file("s0.raw")}) {
        EXPECT_EQ(StoredStream::open(from, {})->check().heaps, 5U) << from;
        EXPECT_EQ(StoredStream::index_path(from), stored.directory.file("chunks.jsonl"));
    }
    EXPECT_THAT(error_of([&] { StoredStream::open(stored.directory.file("s9.raw"), {}); }),
                HasSubstr("no such directory or file"));
    std::ofstream(stored.directory.file("heaps.jsonl")) << "\n";
    EXPECT_THAT(stored.fault(), HasSubstr("there are heaps and chunks"));
    const StoredIn other(line_of_chunk());
    std::filesystem::remove(other.directory.file("chunks.jsonl"));
    EXPECT_THAT(error_of([&] { StoredStream::open("zarr:" + other.directory.path(), {}); }),
                HasSubstr("there is no array; give what --sink zarr:DIR has written"));
    EXPECT_THAT(error_of([&] { StoredStream::open("hdf5:" + other.directory.path(), {}); }),
                HasSubstr("files of a sink hdf5 cannot be sent"));
}

TEST(StoredStream, IsOfTheKindThatIsNamed) {
    const StoredIn stored(line_of_chunk());
    const std::string path = stored.directory.path();
    ZarrContent content;
    content.placement = chunk::Placement::parse("heap 4; time: item 0x1600 / 256 [3]");
    ZarrStore(path, "z", content);
    EXPECT_THAT(stored.fault(), HasSubstr("say which: raw:"));
    EXPECT_EQ(StoredStream::open("raw:" + path, {})->check().heaps, 5U);
    EXPECT_EQ(StoredStream::index_path("raw:" + path), stored.directory.file("chunks.jsonl"));
    EXPECT_EQ(StoredStream::open(stored.directory.file("s0.raw"), {})->check().heaps, 5U);
    EXPECT_THAT(StoredStream::index_path("zarr:" + path), testing::EndsWith("/z/data/.zattrs"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
