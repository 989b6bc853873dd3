// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_sink.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/file_size_limit.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::FileSizeLimit;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string pattern_text(std::uint64_t cnt, std::size_t length) {
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; i++)
        text[i] = static_cast<char>(heap::test::pattern(cnt, i));
    return text;
}

/// Counts what a sink said of its heaps.
struct SettledHeaps {
    std::atomic<int> kept{0};
    std::atomic<int> lost{0};
    void hand(Sink& sink, heap::HeapHandle heap) {
        sink.hand(std::move(heap), [this](bool k) { (k ? kept : lost)++; });
    }
};

TEST(RawSink, WritesPayloadsOneAfterTheOtherAndALineAboutEach) {
    const Directory directory;
    Rig rig;
    RawSink sink({directory.file("out")}, "s0");
    SettledHeaps settled;
    settled.hand(sink, heap_of(rig, {Packet(7).whole(16).items({addressed(0x1000, 0)})}));
    settled.hand(sink, heap_of(rig, {Packet(8).of(100).at(0, 10)}));
    settled.hand(sink, heap_of(rig, {Packet(9).whole(5000)}));
    sink.end();
    EXPECT_EQ(settled.kept, 3);
    EXPECT_EQ(text_of(directory.file("out/s0.raw")), pattern_text(7, 16) + pattern_text(9, 5000));
    const std::vector<std::string> lines = lines_of(directory.file("out/heaps.jsonl"));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(
        lines[0],
        R"({"stream":"s0","cnt":7,"complete":true,"length":16,"received":16,"missing":[],)"
        R"("items":[{"id":4096,"offset":0,"length":16}],"file":"s0.raw","payload":{"offset":0,"bytes":16}})");
    EXPECT_THAT(lines[1], AllOf(HasSubstr(R"("missing":[[10,100]])"), testing::Not(HasSubstr("payload"))));
    EXPECT_THAT(lines[2], HasSubstr(R"("file":"s0.raw","payload":{"offset":16,"bytes":5000})"));
}

TEST(RawSink, OverwritesNoFileAndRotates) {
    const Directory directory;
    Rig rig;
    sink::RawWriter::Options options;
    options.rotate_size = 1000;
    for (std::uint64_t run = 0; run < 2; run++) {
        RawSink sink({directory.path()}, "s0", options);
        SettledHeaps settled;
        for (std::uint64_t cnt = 1; cnt <= 3; cnt++)
            settled.hand(sink, heap_of(rig, {Packet(10 * run + cnt).whole(400)}));
        sink.settle();
        EXPECT_EQ(settled.kept, 3) << "settled before the end";
    }
    EXPECT_THAT(directory.names(), ElementsAre("heaps.jsonl", "s0-2.raw", "s0-3.raw", "s0-4.raw", "s0.raw"));
    EXPECT_EQ(text_of(directory.file("s0-3.raw")), pattern_text(11, 400) + pattern_text(12, 400));
    EXPECT_THAT(lines_of(directory.file("heaps.jsonl"))[5],
                HasSubstr(R"("file":"s0-4.raw","payload":{"offset":0,"bytes":400})"));
}

TEST(RawSink, SaysWhatIsKeptWhereTheDiskEnds) {
    const Directory directory;
    Rig rig;
    RawSink sink({directory.path()}, "s0");
    SettledHeaps settled;
    settled.hand(sink, heap_of(rig, {Packet(1).whole(8000)}));
    sink.settle();
    {
        const FileSizeLimit limit(8192);
        settled.hand(sink, heap_of(rig, {Packet(2).whole(8000)}));
        sink.settle();
    }
    settled.hand(sink, heap_of(rig, {Packet(3).whole(10)}));
    sink.end();
    EXPECT_EQ(settled.kept, 1);
    EXPECT_EQ(settled.lost, 2);
    EXPECT_THAT(sink.failure(), AllOf(HasSubstr(directory.file("s0.raw") + ": cannot write: File too large"),
                                      HasSubstr("the payload of 1 heap (8000 B), 1 line in " +
                                                directory.file("heaps.jsonl"))));
    EXPECT_EQ(text_of(directory.file("s0.raw")), pattern_text(1, 8000));
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 1U);
}

TEST(RawSink, TakeWaitsForTheDisk) {
    const Directory directory;
    Rig rig;
    RawSink sink({directory.path()}, "s0");
    EXPECT_TRUE(sink.take(heap_of(rig, {Packet(1).whole(100)})));
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 1U);
    const FileSizeLimit limit(4096);
    EXPECT_FALSE(sink.take(heap_of(rig, {Packet(2).whole(9000)})));
}

TEST(RawSink, FailsWhenItsFileCannotBeMade) {
    const Directory directory;
    Rig rig;
    RawSink sink({directory.path()}, "a/b");
    SettledHeaps settled;
    settled.hand(sink, heap_of(rig, {Packet(1).whole(100)}));
    sink.end();
    EXPECT_EQ(settled.lost, 1);
    EXPECT_THAT(sink.failure(), AllOf(HasSubstr("a/b.raw: cannot write"), HasSubstr("0 lines")));
}

TEST(RawSink, RefusesADirectoryThatCannotBeMade) {
    EXPECT_THAT(error_of([] { const RawSink sink({"/nonexistent/a/b"}, "s0"); }),
                HasSubstr("cannot make this directory for heaps"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
