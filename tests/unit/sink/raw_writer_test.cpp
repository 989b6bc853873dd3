// SPDX-License-Identifier: BSD-3-Clause
#include "sink/raw_writer.hpp"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/file_size_limit.hpp"
#include "tests/unit/sink/raw_rig.hpp"

namespace spead::sink::unit_test {
namespace {

using spead::test::FileSizeLimit;
using testing::ElementsAre;
using testing::Pair;

TEST(RawWriter, WritesRecordsOneAfterTheOtherAndCutsTheFileToItsLength) {
    for (const Way way : {Way::automatic, Way::pwrite}) {
        const RawDirectory directory;
        RawWriter::Options options = RawRig::small();
        options.way = way;
        RawRig rig(directory, options);
        std::size_t bytes = 0;
        for (const std::size_t length : {1U, 4095U, 4096U, 4097U, 8192U, 100000U, 0U, 3U}) {
            EXPECT_TRUE(rig.add(length));
            bytes += length;
        }
        EXPECT_EQ(rig.writer().finish(), 0);
        EXPECT_EQ(rig.check_lines(), 8U);
        EXPECT_EQ(rig.kept(), 8U);
        EXPECT_EQ(directory.text("f1").size(), bytes);
        EXPECT_EQ(rig.writer().written().records, 7U);
        EXPECT_EQ(rig.writer().written().bytes, bytes);
        EXPECT_EQ(rig.writer().written().lines, 8U);
    }
}

TEST(RawWriter, SettlesWhatDoesNotFillABlockSoon) {
    const RawDirectory directory;
    RawRig rig(directory);
    for (std::size_t i = 1; i <= 50; i++) {
        rig.add(i * 100);
        rig.writer().settle();
        ASSERT_EQ(rig.kept(), i);
        ASSERT_EQ(rig.check_lines(), i) << "each line's bytes are in the file now";
    }
}

TEST(RawWriter, WritesWithoutAnybodysCallWhenNoMoreRecordsCome) {
    const RawDirectory directory;
    RawRig rig(directory);
    rig.add(10);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (rig.kept() == 0 && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(rig.kept(), 1U);
    EXPECT_EQ(rig.check_lines(), 1U);
}

TEST(RawWriter, NeedsNoMoreMemoryThanItsBlocks) {
    const RawDirectory directory;
    RawRig rig(directory);
    for (int i = 0; i < 200; i++)
        rig.add(30000);
    rig.writer().finish();
    EXPECT_EQ(rig.check_lines(), 200U) << "200 records of more bytes than all blocks have together";
}

TEST(RawWriter, BoundsTheLinesThatWait) {
    const RawDirectory directory;
    RawWriter::Options options = RawRig::small();
    options.most_line_bytes = 30;
    options.idle = std::chrono::hours(1);
    RawRig rig(directory, options);
    for (int i = 0; i < 100; i++)
        rig.add(i % 2);
    EXPECT_GE(rig.kept(), 90U) << "a line that finds no room waits for those before it";
    rig.writer().finish();
    EXPECT_EQ(rig.check_lines(), 100U);
}

/// Ends a writer that appends the line of the first of three records without bytes. Returns how many were
/// settled.
int settled_at_end() {
    std::atomic<bool> appending{false};
    std::atomic<bool> go_on{false};
    std::atomic<int> settled{0};
    RawWriter::Hooks hooks;
    hooks.append = [&](std::span<const RawWriter::Note> notes, std::uint64_t& written) {
        appending = true;
        while (!go_on)
            std::this_thread::yield();
        written = notes.size();
        return 0;
    };
    RawWriter writer(RawRig::small(), hooks);
    const auto add = [&] {
        writer.add(
            {}, [](const RawFile*, std::uint64_t) { return std::string("line\n"); },
            [&](bool kept) { settled += kept ? 1 : 0; });
    };
    add();
    while (!appending)
        std::this_thread::yield();
    add();
    add();
    std::thread end([&] { writer.finish(); });
    for (int i = 0; i < 100; i++)
        std::this_thread::yield();
    go_on = true;
    end.join();
    return settled;
}

TEST(RawWriter, SettlesRecordsThatComeWhileItsLastLinesAreAppended) {
    for (int round = 0; round < 100; round++)
        ASSERT_EQ(settled_at_end(), 3) << "heaps without payload, as those that a stop flushes";
}

TEST(RawWriter, BeginsAnotherFileAtItsSize) {
    const RawDirectory directory;
    RawWriter::Options options = RawRig::small();
    options.rotate_size = 20000;
    RawRig rig(directory, options);
    for (int i = 0; i < 30; i++)
        rig.add(3000);
    rig.add(50000);
    rig.writer().finish();
    EXPECT_EQ(rig.check_lines(), 31U);
    for (int file = 1; file <= 5; file++)
        EXPECT_EQ(directory.text(fmt::format("f{}", file)).size(), 18000U);
    EXPECT_EQ(directory.text("f6").size(), 50000U) << "a record is never cut";
    EXPECT_FALSE(directory.has("f7"));
}

TEST(RawWriter, GivesEachRecordAFileOfItsOwn) {
    const RawDirectory directory;
    RawWriter::Options options = RawRig::small();
    options.file_per_record = true;
    RawRig rig(directory, options);
    for (const std::size_t length : {3000U, 50000U, 0U, 4096U})
        rig.add(length);
    rig.writer().finish();
    EXPECT_EQ(rig.check_lines(), 4U);
    EXPECT_EQ(directory.text("f1").size(), 3000U);
    EXPECT_EQ(directory.text("f2").size(), 50000U);
    EXPECT_EQ(directory.text("f3").size(), 4096U);
    EXPECT_FALSE(directory.has("f4"));
}

TEST(RawWriter, KeepsWhatFitsOnAFullDiskAndTellsOnce) {
    for (const Way way : {Way::automatic, Way::pwrite}) {
        const RawDirectory directory;
        RawWriter::Options options = RawRig::small();
        options.way = way;
        RawRig rig(directory, options);
        {
            const FileSizeLimit limit(40960);
            for (int i = 0; i < 40; i++)
                rig.add(3000);
            rig.writer().settle();
        }
        EXPECT_EQ(rig.kept() + rig.lost(), 40U);
        EXPECT_EQ(rig.check_lines(), rig.kept());
        EXPECT_GE(rig.kept(), 10U);
        EXPECT_LE(rig.kept(), 13U);
        EXPECT_THAT(rig.failures(), ElementsAre(Pair("f1", EFBIG)));
        EXPECT_FALSE(rig.add(1)) << "it takes no more, also when there is room";
        rig.writer().finish();
        EXPECT_EQ(directory.text("f1").size(), rig.kept() * 3000) << "room taken in advance is given back";
    }
}

TEST(RawWriter, LosesRecordsWhoseLinesHaveNoRoom) {
    const RawDirectory directory;
    RawRig rig(directory);
    rig.limit_lines(7);
    for (int i = 0; i < 20; i++)
        rig.add(1000);
    rig.writer().finish();
    EXPECT_EQ(rig.kept(), 7U);
    EXPECT_EQ(rig.lost(), 13U);
    EXPECT_EQ(rig.check_lines(), 7U);
    EXPECT_THAT(rig.failures(), ElementsAre(Pair("", ENOSPC)));
    EXPECT_EQ(directory.text("f1").size(), 7000U);
}

TEST(RawWriter, LeavesNoFileWithoutARecord) {
    const RawDirectory directory;
    RawRig rig(directory);
    {
        const FileSizeLimit limit(4096);
        rig.add(10000);
        rig.writer().settle();
    }
    EXPECT_EQ(rig.lost(), 1U);
    EXPECT_FALSE(directory.has("f1"));
}

TEST(RawWriter, TellsOfAFileThatCannotBeOpened) {
    const RawDirectory directory;
    RawRig rig(directory);
    directory.open("f1");
    EXPECT_THROW(rig.add(10), Error);
    rig.writer().finish();
    EXPECT_EQ(rig.kept() + rig.lost(), 0U) << "the caller settles it";
}

/// Tests the way that seccomp profiles of containers leave.
TEST(RawWriter, WritesWithPwriteWhereSeccompForbidsUring) {
    const RawDirectory directory;
    std::thread([&] {
        ASSERT_TRUE(forbid_uring()) << std::strerror(errno);
        RawRig rig(directory);
        EXPECT_EQ(rig.writer().why_pwrite(), "Operation not permitted");
        for (int i = 0; i < 30; i++)
            rig.add(5000);
        rig.writer().finish();
        EXPECT_EQ(rig.check_lines(), 30U);
    }).join();
}

TEST(RawWriter, WritesThroughThePageCacheWhereThereIsNoOtherWayAndSaysSoOnce) {
    const RawDirectory directory("ramfs");
    if (!directory.why_not().empty())
        GTEST_SKIP() << "cannot mount a file system without O_DIRECT: " << directory.why_not();
    RawRig rig(directory);
    for (int i = 0; i < 30; i++)
        rig.add(5000);
    rig.writer().finish();
    EXPECT_EQ(rig.check_lines(), 30U);
    EXPECT_EQ(rig.no_direct(), 1);
    EXPECT_EQ(directory.text("f1").size(), 150000U);
}

TEST(RawWriter, FillsADiskToItsEnd) {
    const RawDirectory directory("tmpfs", "size=256k");
    if (!directory.why_not().empty())
        GTEST_SKIP() << "cannot mount a small file system: " << directory.why_not();
    RawRig rig(directory);
    for (int i = 0; i < 100; i++)
        rig.add(5000);
    rig.writer().finish();
    EXPECT_EQ(rig.kept() + rig.lost(), 100U);
    EXPECT_GE(rig.kept() * 5000, 192U * 1024);
    EXPECT_EQ(rig.check_lines(), rig.kept());
    EXPECT_THAT(rig.failures(), ElementsAre(Pair("f1", ENOSPC)));
    EXPECT_EQ(directory.text("f1").size(), rig.kept() * 5000);
}

}  // namespace
}  // namespace spead::sink::unit_test
