// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/file_sink.hpp"

#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <limits>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/file_size_limit.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::FileSizeLimit;
using spead::test::refusal;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Writes a complete heap of the window's pattern.
void write_whole(FileSink& sink, Rig& rig, std::uint64_t cnt, std::size_t length = 16) {
    sink.consume(heap_of(rig, {Packet(cnt).whole(length)}));
}

heap::WindowConfig without_history() {
    heap::WindowConfig c = heap::test::small_window();
    c.history = 0;
    return c;
}

std::string pattern_of(std::uint64_t cnt, std::size_t length) {
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; i++)
        text[i] = static_cast<char>(heap::test::pattern(cnt, i));
    return text;
}

TEST(FileSink, WritesAHeapsPayloadAndALineAboutIt) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.file("out"), "s0");
    sink.consume(heap_of(rig, {Packet(7).whole(16).items({addressed(0x1000, 0), immediate(0x1001, 12)})}));
    sink.finish();
    EXPECT_EQ(text_of(directory.file("out/s0-7.bin")), pattern_of(7, 16));
    EXPECT_EQ(text_of(directory.file("out/heaps.jsonl")),
              R"({"stream":"s0","cnt":7,"complete":true,"length":16,"received":16,"missing":[],)"
              R"("items":[{"id":4096,"offset":0,"length":16},{"id":4097,"immediate":12}]})"
              "\n");
}

TEST(FileSink, TellsWhatIsMissingOfAnIncompleteHeapAndWritesNoPayload) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(rig, {Packet(9).of(1000).at(100, 100).items({addressed(0x1000, 0)}),
                               Packet(9).of(1000).at(300, 200)}));
    sink.finish();
    EXPECT_EQ(directory.names(), std::vector<std::string>{"heaps.jsonl"});
    EXPECT_THAT(
        lines_of(directory.file("heaps.jsonl")),
        ElementsAre(
            R"({"stream":"s0","cnt":9,"complete":false,"length":1000,"received":300,)"
            R"("missing":[[0,100],[200,300],[500,1000]],"items":[{"id":4096,"offset":0,"length":1000}],)"
            R"("end":"flushed"})"));
}

TEST(FileSink, SaysHowAHeapEnded) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    for (std::uint64_t cnt = 1; cnt <= 5; cnt++)
        EXPECT_EQ(rig.give(Packet(cnt).of(100).at(0, 10)), PacketOutcome::placed);
    sink.consume(rig.pop());
    sink.finish();
    EXPECT_THAT(lines_of(directory.file("heaps.jsonl")), ElementsAre(HasSubstr(R"("end":"evicted")")));
}

TEST(FileSink, WritesThePayloadOfAHeapOfUnknownLengthWithoutAHole) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(rig, {Packet(3).at(0, 20).items({addressed(0x1000, 4)}), Packet(3).at(20, 12)}));
    sink.finish();
    EXPECT_EQ(text_of(directory.file("s0-3.bin")), pattern_of(3, 32));
    EXPECT_THAT(lines_of(directory.file("heaps.jsonl")),
                ElementsAre(R"({"stream":"s0","cnt":3,"complete":false,"length":null,"received":32,)"
                            R"("missing":[],"items":[{"id":4096,"offset":4,"length":28}],"end":"flushed"})"));
}

TEST(FileSink, WritesNoPayloadOfAHeapOfUnknownLengthWithAHole) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(rig, {Packet(3).at(0, 20), Packet(3).at(30, 10)}));
    sink.finish();
    EXPECT_EQ(directory.names(), std::vector<std::string>{"heaps.jsonl"});
    EXPECT_THAT(lines_of(directory.file("heaps.jsonl")),
                ElementsAre(AllOf(HasSubstr(R"("length":null,"received":30,"missing":[[20,30]])"))));
}

TEST(FileSink, ListsItemsAsAReaderNeedsThem) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(
        rig, {Packet(1).whole(64).items({immediate(0x1005, 3), addressed(0x1002, 32), addressed(0x1001, 8),
                                         addressed(0x1007, 8), addressed(0, 48), immediate(0, 0),
                                         addressed(0x1003, 64), immediate(0x1004, 2)})}));
    sink.finish();
    const auto line = nlohmann::ordered_json::parse(text_of(directory.file("heaps.jsonl")));
    EXPECT_EQ(line["items"].dump(),
              R"([{"id":4103,"offset":8,"length":24},{"id":4098,"offset":32,"length":16},)"
              R"({"id":4100,"immediate":2},{"id":4101,"immediate":3}])")
        << "by offset, then immediates by value; NULLs and items of no length left out";
}

TEST(FileSink, SaysWhenAnItemPointsPastTheEnd) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(rig, {Packet(1).whole(64).items({addressed(0x1000, 65)}).pointing_at(65)}));
    sink.finish();
    EXPECT_EQ(directory.names(), std::vector<std::string>{"heaps.jsonl"});
    EXPECT_THAT(
        lines_of(directory.file("heaps.jsonl")),
        ElementsAre(R"({"stream":"s0","cnt":1,"complete":false,"length":64,"received":64,"missing":[],)"
                    R"("items":[],"end":"flushed","item_past_end":true})"));
}

TEST(FileSink, WritesAnEmptyFileForAHeapWithoutPayload) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    sink.consume(heap_of(rig, {Packet(1).whole(0).items({immediate(0x1000, 5)})}));
    sink.finish();
    EXPECT_EQ(text_of(directory.file("s0-1.bin")), "");
    EXPECT_THAT(lines_of(directory.file("heaps.jsonl")),
                ElementsAre(HasSubstr(R"("complete":true,"length":0,"received":0,"missing":[])")));
}

TEST(FileSink, GivesEqualCountsSuffixesAndOverwritesNothing) {
    const Directory directory;
    Rig rig(without_history());
    FileSink sink(directory.path(), "s0");
    for (const std::size_t length : {10U, 20U, 30U})
        write_whole(sink, rig, 4, length);
    write_whole(sink, rig, 5);
    sink.finish();
    EXPECT_THAT(directory.names(),
                ElementsAre("heaps.jsonl", "s0-4-2.bin", "s0-4-3.bin", "s0-4.bin", "s0-5.bin"));
    EXPECT_EQ(text_of(directory.file("s0-4.bin")), pattern_of(4, 10));
    EXPECT_EQ(text_of(directory.file("s0-4-2.bin")), pattern_of(4, 20));
    EXPECT_EQ(text_of(directory.file("s0-4-3.bin")), pattern_of(4, 30));
    const std::vector<std::string> lines = lines_of(directory.file("heaps.jsonl"));
    ASSERT_EQ(lines.size(), 4U);
    EXPECT_EQ(lines[0].find("file"), std::string::npos) << lines[0];
    EXPECT_THAT(lines[1], HasSubstr(R"("file":"s0-4-2.bin")"));
    EXPECT_THAT(lines[2], HasSubstr(R"("file":"s0-4-3.bin")"));
    EXPECT_EQ(lines[3].find("file"), std::string::npos) << lines[3];
}

TEST(FileSink, ContinuesWhatAnEarlierRunWrote) {
    const Directory directory;
    for (int run = 0; run < 2; run++) {
        Rig rig;
        FileSink sink(directory.path(), "s0");
        write_whole(sink, rig, 1);
        sink.finish();
    }
    EXPECT_THAT(directory.names(), ElementsAre("heaps.jsonl", "s0-1-2.bin", "s0-1.bin"));
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 2U);
}

TEST(FileSink, SharesADirectoryWithOtherStreams) {
    const Directory directory;
    Rig rig(without_history());
    FileSink first(directory.path(), "a");
    FileSink second(directory.path(), "b");
    for (std::uint64_t cnt = 0; cnt < 150; cnt++) {
        write_whole(first, rig, cnt, 1);
        write_whole(second, rig, cnt, 1);
    }
    first.finish();
    second.finish();
    const std::vector<std::string> lines = lines_of(directory.file("heaps.jsonl"));
    EXPECT_EQ(lines.size(), 300U);
    std::map<std::string, std::uint64_t> next;
    for (const std::string& line : lines) {
        const auto json = nlohmann::json::parse(line);
        EXPECT_EQ(json["cnt"], next[json["stream"]]++);
    }
}

TEST(FileSink, HasAHeapsLineInTheFileAtOnce) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    for (std::uint64_t cnt = 1; cnt <= 3; cnt++) {
        write_whole(sink, rig, cnt);
        EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), cnt);
    }
}

TEST(FileSink, WaitsForNobodysLock) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    const FileDescriptor reader(open(directory.file("heaps.jsonl").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(flock(reader.get(), LOCK_EX), 0);
    const FileDescriptor other(open(directory.file("heaps.jsonl").c_str(), O_RDONLY | O_CLOEXEC));
    struct flock much {};
    much.l_type = F_RDLCK;
    much.l_len = 1 << 30;
    ASSERT_EQ(fcntl(other.get(), F_OFD_SETLK, &much), 0);
    write_whole(sink, rig, 1);
    FileSink second(directory.path(), "s1");
    write_whole(second, rig, 2);
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 2U);
}

TEST(FileSink, WritesNowhereThatALinkInADirectoryOfOthersLeads) {
    const Directory directory;
    std::filesystem::create_directory(directory.file("mine"));
    std::filesystem::create_directory(directory.file("shared"));
    ASSERT_EQ(chmod(directory.file("shared").c_str(), 0777), 0);
    std::filesystem::create_directory_symlink("../mine", directory.file("shared/out"));
    EXPECT_THAT(error_of([&] { const FileSink sink(directory.file("shared/out"), "s0"); }),
                HasSubstr("its path leads through `out`, a link of user"));
    std::filesystem::create_symlink(directory.file("mine/precious"), directory.file("shared/heaps.jsonl"));
    EXPECT_THAT(error_of([&] { const FileSink sink(directory.file("shared"), "s0"); }),
                AllOf(HasSubstr("heaps.jsonl"), HasSubstr("it is a link")));
    std::filesystem::remove(directory.file("shared/heaps.jsonl"));
    // Payload under a planted name goes under the next one.
    std::filesystem::create_symlink(directory.file("mine/precious"), directory.file("shared/s0-1.bin"));
    Rig rig;
    FileSink sink(directory.file("shared"), "s0");
    write_whole(sink, rig, 1);
    EXPECT_TRUE(std::filesystem::is_empty(directory.file("mine")));
    EXPECT_EQ(text_of(directory.file("shared/s0-1-2.bin")), pattern_of(1, 16));
}

TEST(FileSink, MakesTheDirectoryButNotItsParents) {
    const Directory directory;
    { const FileSink sink(directory.file("new"), "s0"); }
    EXPECT_TRUE(std::filesystem::is_directory(directory.file("new")));
    EXPECT_THAT(error_of([&] { const FileSink sink(directory.file("no/such"), "s0"); }),
                AllOf(HasSubstr(directory.file("no/such")), HasSubstr("No such file or directory")));
}

TEST(FileSink, RefusesADirectoryThatIsAFile) {
    const Directory directory;
    std::ofstream(directory.file("taken")) << "x";
    EXPECT_THAT(error_of([&] { const FileSink sink(directory.file("taken"), "s0"); }),
                AllOf(HasSubstr(directory.file("taken")), HasSubstr("Not a directory")));
}

/// Makes nobody the effective user during its life, if this process is root.
class AsNobody {
  public:
    AsNobody() {
        if (root_ && ::seteuid(65534) != 0)
            throw Error("cannot become nobody");
    }
    ~AsNobody() {
        if (root_ && ::seteuid(0) != 0)
            std::abort();
    }
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;

  private:
    bool root_ = ::geteuid() == 0;
};

TEST(FileSink, RefusesADirectoryThatItMayNotWriteAtOnce) {
    const Directory directory;
    std::ofstream(directory.file("heaps.jsonl")) << "";
    std::filesystem::permissions(directory.file("heaps.jsonl"), std::filesystem::perms(0666));
    std::filesystem::permissions(directory.path(), std::filesystem::perms(0555));
    const AsNobody nobody;
    EXPECT_THAT(error_of([&] { const FileSink sink(directory.path(), "s0"); }),
                AllOf(HasSubstr(directory.path()), HasSubstr("Permission denied")));
}

TEST(FileSink, RemovesThePayloadItCouldNotWriteWholeAndSaysWhatWasWritten) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    {
        const FileSizeLimit limit(10'000);
        write_whole(sink, rig, 1, 10'000);
        sink.consume(heap_of(rig, {Packet(2).of(100).at(0, 10)}));
        const heap::HeapHandle large = heap_of(rig, {Packet(3).whole(10'001)});
        EXPECT_THAT(error_of([&] { sink.consume(large); }),
                    AllOf(HasSubstr(directory.file("s0-3.bin")), HasSubstr("File too large"),
                          HasSubstr("the payload of 1 heap (9.77 KiB), 2 lines")));
    }
    EXPECT_THAT(directory.names(), ElementsAre("heaps.jsonl", "s0-1.bin"));
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 2U) << "what was written has its lines";
}

TEST(FileSink, LeavesNoHalfLineWhereTheDiskEnds) {
    const Directory directory;
    Rig rig;
    constexpr std::size_t kLimit = 1000;
    {
        FileSink sink(directory.path(), "s0");
        const FileSizeLimit limit(kLimit);
        std::string error;
        std::uint64_t cnt = 0;
        while (error.empty() && cnt < 20)
            error = refusal([&] { write_whole(sink, rig, ++cnt, 1); });
        const std::size_t whole = lines_of(directory.file("heaps.jsonl")).size();
        EXPECT_GT(whole, 5U);
        EXPECT_EQ(whole, cnt - 1);
        EXPECT_THAT(error,
                    AllOf(HasSubstr(directory.file("heaps.jsonl")), HasSubstr("File too large"),
                          HasSubstr(fmt::format("payload of {} heaps ({} B), {} lines", cnt, cnt, whole))));
    }
    const std::string text = text_of(directory.file("heaps.jsonl"));
    EXPECT_LE(text.size(), kLimit);
    EXPECT_EQ(text.back(), '\n');
    // The next run's lines are whole again.
    FileSink next(directory.path(), "s0");
    write_whole(next, rig, 100, 1);
    for (const std::string& line : lines_of(directory.file("heaps.jsonl")))
        EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

TEST(FileSink, KeepsTheLinesOfEarlierHeapsWhenAFileCannotBeOpened) {
    const Directory directory;
    Rig rig;
    FileSink sink(directory.path(), "s0");
    write_whole(sink, rig, 1);
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    const heap::HeapHandle second = heap_of(rig, {Packet(2).whole(16)});
    setrlimit(RLIMIT_NOFILE, &none);
    const std::string error = error_of([&] { sink.consume(second); });
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_THAT(error,
                AllOf(HasSubstr("Too many open files"), HasSubstr("payload of 1 heap (16 B), 1 line")));
    EXPECT_EQ(lines_of(directory.file("heaps.jsonl")).size(), 1U);
}

/// Mounts a file system of 256 KiB during its life, if this process may do so.
class SmallDisk {
  public:
    explicit SmallDisk(const Directory& directory) : path_(directory.file("disk")) {
        std::filesystem::create_directory(path_);
        if (::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=256k") != 0)
            why_not_ = std::strerror(errno);
    }
    ~SmallDisk() {
        if (why_not_.empty()) {
            EXPECT_EQ(::umount(path_.c_str()), 0) << std::strerror(errno);
        }
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    const std::string& path() const { return path_; }
    const std::string& why_not() const { return why_not_; }

  private:
    std::string path_;
    std::string why_not_;
};

TEST(FileSink, EndsOnAFullDiskAndSaysWhatFitted) {
    // The last file begun leaves room for the lines when it goes, or none, where the one before filled the
    // disk to its last page.
    for (const std::size_t length : {20'000U, 32'768U}) {
        const Directory directory;
        const SmallDisk disk(directory);
        if (!disk.why_not().empty())
            GTEST_SKIP() << "cannot mount a small file system: " << disk.why_not();
        std::string error;
        std::uint64_t cnt = 0;
        {
            Rig rig;
            FileSink sink(disk.path(), "s0");
            while (error.empty() && cnt < 100) {
                cnt++;
                const heap::HeapHandle h = heap_of(rig, {Packet(cnt).whole(length)});
                try {
                    sink.consume(h);
                } catch (const Error& e) {
                    error = e.what();
                }
            }
        }
        const std::size_t lines = lines_of(disk.path() + "/heaps.jsonl").size();
        EXPECT_THAT(error, AllOf(HasSubstr(disk.path()), HasSubstr("No space left on device"),
                                 HasSubstr(fmt::format("payload of {} heaps (", cnt - 1)),
                                 HasSubstr(fmt::format("), {} lines", lines))));
        EXPECT_TRUE(lines == cnt - 1 || (length == 32'768 && lines == 0)) << lines;
        EXPECT_FALSE(std::filesystem::exists(fmt::format("{}/s0-{}.bin", disk.path(), cnt)));
        EXPECT_EQ(text_of(fmt::format("{}/s0-{}.bin", disk.path(), cnt - 1)), pattern_of(cnt - 1, length));
    }
}

}  // namespace
}  // namespace spead::runtime::unit_test
