// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_heaps.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "runtime/file_sink.hpp"
#include "runtime/raw_sink.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::error_of;
using testing::HasSubstr;

/// Holds a directory with an index of these lines, and a raw file of 100 bytes.
struct Stored {
    explicit Stored(const std::string& lines) {
        std::ofstream(directory.file("heaps.jsonl")) << lines;
        std::string bytes(100, '\0');
        for (std::size_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<char>(i);
        std::ofstream(directory.file("s0.raw")) << bytes;
    }
    std::string fault() const {
        return error_of([&] { StoredHeaps(directory.path()).check(); });
    }
    Directory directory;
};

std::string line(const std::string& items = "", std::uint64_t offset = 10, std::uint64_t bytes = 20,
                 const std::string& file = "s0.raw") {
    return fmt::format(R"({{"stream":"s0","cnt":7,"complete":true,"length":{},"received":{},"missing":[],)"
                       R"("items":[{}],"file":"{}","payload":{{"offset":{},"bytes":{}}}}})"
                       "\n",
                       bytes, bytes, items, file, offset, bytes);
}

TEST(StoredHeaps, ReadsWhatSinksHaveWritten) {
    const Directory directory;
    for (const char* kind : {"raw", "file"}) {
        Rig rig;
        const std::string out = directory.file(kind);
        {
            std::unique_ptr<Sink> sink;
            if (kind[0] == 'r')
                sink = std::make_unique<RawSink>(std::vector<std::string>{out}, "s0");
            else
                sink = std::make_unique<FileSink>(out, "s0");
            sink->take(
                heap_of(rig, {Packet(7).whole(16).items({addressed(0x1000, 4), immediate(0x1001, 5)})}));
            sink->take(heap_of(rig, {Packet(8).of(100).at(0, 10)}));
            sink->take(heap_of(rig, {Packet(9).whole(40)}));
            sink->end();
        }
        StoredHeaps stored(out);
        const StoredHeaps::Sum sum = stored.check();
        EXPECT_EQ(sum.heaps, 2U);
        EXPECT_EQ(sum.incomplete, 1U);
        EXPECT_EQ(sum.largest, 40U);
        EXPECT_EQ(sum.stream, "s0");
        StoredHeap heap;
        ASSERT_TRUE(stored.next(heap));
        EXPECT_EQ(heap.cnt, 7U);
        ASSERT_EQ(heap.items.size(), 2U);
        EXPECT_EQ(heap.items[0].id, 0x1000U);
        EXPECT_EQ(heap.items[0].offset, 4U);
        EXPECT_EQ(heap.items[0].length, 12U);
        EXPECT_TRUE(heap.items[1].immediate);
        EXPECT_EQ(heap.items[1].value, 5U);
        ASSERT_TRUE(stored.next(heap));
        EXPECT_EQ(heap.cnt, 9U);
        std::vector<std::byte> payload(64);
        stored.read(heap, payload);
        for (std::size_t i = 0; i < 40; i++)
            ASSERT_EQ(static_cast<std::uint8_t>(payload[i]), heap::test::pattern(9, i));
        EXPECT_FALSE(stored.next(heap));
        stored.rewind();
        EXPECT_TRUE(stored.next(heap));
    }
    EXPECT_EQ(StoredHeaps(directory.file("raw/s0.raw")).check().heaps, 2U);
    EXPECT_EQ(StoredHeaps::index_path(directory.file("raw/s0.raw")), directory.file("raw/heaps.jsonl"));
}

TEST(StoredHeaps, OfARawFileTakesItsOwnHeaps) {
    const Stored stored(line() + line("", 0, 5, "s1.raw"));
    std::ofstream(stored.directory.file("s1.raw")) << "12345";
    EXPECT_EQ(StoredHeaps(stored.directory.file("s1.raw")).check().largest, 5U);
    EXPECT_EQ(StoredHeaps(stored.directory.path()).check().heaps, 2U);
}

TEST(StoredHeaps, RefusesBrokenLines) {
    struct Case {
        std::string lines;
        const char* says;
    };
    for (const Case& c :
         {Case{"", "no complete heap"}, Case{"{}\n", ":1: `stream` is no text"},
          Case{"{\n", "no object of JSON"}, Case{"[1]\n", "no object"},
          Case{line() + "x", ":2: the last line has no end"},
          Case{R"({"stream":"s0","cnt":-1})"
               "\n",
               "`cnt` is no number"},
          Case{R"({"stream":"s0","cnt":1,"complete":true})"
               "\n",
               "`received` is no number"},
          Case{R"({"stream":"s0","cnt":1,"complete":true,"length":5,"items":[],"payload":7,"file":"s0.raw"})"
               "\n",
               "`offset` is no number"},
          Case{R"({"stream":"s0","cnt":1,"complete":true,"length":0,"items":7})"
               "\n",
               "`items` is no list"},
          Case{std::string(IndexLines::kMostLine + 1, 'x'), "more than 4194304 bytes"},
          Case{std::string(100'000, '[') + '\n', "no object of JSON"},
          Case{line("7"), "an item is no object"},
          Case{line(R"({"id":3,"immediate":1})"), "belongs to the protocol"},
          Case{line(R"({"id":4096,"offset":0})"), "`length` is no number"},
          Case{line(R"({"id":4096,"offset":0,"length":21})"), "the payload has 20"},
          Case{line(R"({"id":4096,"offset":21,"length":0})"), "the payload has 20"},
          Case{line(R"({"id":4096,"offset":1,"length":18446744073709551615})"), "the payload has 20"},
          Case{line(R"({"id":4096,"offset":0,"length":9},{"id":4097,"offset":8,"length":1})"),
               "begins at 9"}}) {
        const Stored stored(c.lines);
        EXPECT_THAT(stored.fault(), HasSubstr(c.says)) << c.lines.substr(0, 200);
    }
}

TEST(StoredHeaps, RefusesNumbersThatTheFlavourHasNoBitsFor) {
    const auto fault = [](const Stored& stored, unsigned bits) {
        return error_of([&] { StoredHeaps(stored.directory.path(), wire::Flavour(bits)).check(); });
    };
    const Stored id(line(R"({"id":8388608,"offset":0,"length":1})"));
    EXPECT_THAT(fault(id, 40), HasSubstr(":1: the item id 8388608 is above 8388607"));
    EXPECT_EQ(StoredHeaps(id.directory.path(), wire::Flavour(32)).check().heaps, 1U);
    const Stored value(line(R"({"id":4096,"immediate":4294967296})"));
    EXPECT_THAT(fault(value, 32), HasSubstr("the value 4294967296 is above 4294967295"));
    EXPECT_EQ(StoredHeaps(value.directory.path(), wire::Flavour(40)).check().heaps, 1U);
    std::string count = line();
    count.replace(count.find(":7,"), 3, ":256,");
    EXPECT_THAT(fault(Stored(line() + count), 8), HasSubstr(":2: the heap count 256 is above 255"));
    const Stored length(line("", 0, 256, "large"));
    EXPECT_THAT(fault(length, 8), HasSubstr("the length 256 is above 255"));
}

TEST(StoredHeaps, ListsAddressedItemsFirst) {
    const Stored stored(line(R"({"id":4097,"immediate":1},{"id":4096,"offset":0,"length":20},)"
                             R"({"id":4098,"immediate":2})"));
    StoredHeaps heaps(stored.directory.path());
    StoredHeap heap;
    ASSERT_TRUE(heaps.next(heap));
    ASSERT_EQ(heap.items.size(), 3U);
    EXPECT_EQ(heap.items[0].id, 4096U);
    EXPECT_EQ(heap.items[1].id, 4097U);
    EXPECT_EQ(heap.items[2].id, 4098U);
}

TEST(StoredHeaps, RefusesPlacesOutsideOfFiles) {
    struct Case {
        std::string lines;
        const char* says;
    };
    for (const Case& c :
         {Case{line("", 81, 20), "bytes 81 to 101 of s0.raw, and that has 100: it was cut"},
          Case{line("", 18446744073709551615ULL, 20), "that has 100"},
          Case{line("", 0, 1ULL << 32), "more than 2 GiB"},
          Case{line("", 0, 1, "s9.raw"), "cannot read s9.raw"},
          Case{line("", 0, 1, "../s0.raw"), "no name of a file in the directory"},
          Case{line("", 0, 1, ".."), "no name"}, Case{line("", 0, 1, ""), "no name"},
          Case{line("", 0, 1, "link"), "cannot read link"}, Case{line("", 0, 1, "pipe"), "is no file"}}) {
        const Stored stored(c.lines);
        ASSERT_EQ(symlink("s0.raw", stored.directory.file("link").c_str()), 0);
        ASSERT_EQ(mkfifo(stored.directory.file("pipe").c_str(), 0600), 0);
        EXPECT_THAT(stored.fault(), HasSubstr(c.says)) << c.lines;
    }
    std::string other = line();
    other.replace(other.find("s0"), 2, "s1");
    EXPECT_THAT(Stored(line() + other).fault(), HasSubstr("two streams, `s0` and `s1`"));
    const Directory empty;
    EXPECT_THAT(error_of([&] { StoredHeaps(empty.path()); }), HasSubstr("cannot read the index"));
    EXPECT_THAT(error_of([&] { StoredHeaps(empty.file("none")); }), HasSubstr("no such directory or file"));
}

TEST(StoredHeaps, NoticesAFileThatIsCutMeanwhile) {
    const Stored stored(line());
    StoredHeaps heaps(stored.directory.path());
    heaps.check();
    StoredHeap heap;
    ASSERT_TRUE(heaps.next(heap));
    ASSERT_EQ(truncate(stored.directory.file("s0.raw").c_str(), 15), 0);
    std::vector<std::byte> payload(20);
    EXPECT_THAT(error_of([&] { heaps.read(heap, payload); }), HasSubstr("it was cut"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
