// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lines_file.hpp"

#include <barrier>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using spead::test::FileSizeLimit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Lines : public testing::Test {
  protected:
    LinesFile open_lines() const {
        const FileDescriptor directory(open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
        return LinesFile(directory.get(), "lines", path(), "the test writes", "test");
    }
    std::string path() const { return directory_.file("lines"); }
    void leave(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

    Directory directory_;
};

TEST_F(Lines, AreAppendedAndCounted) {
    LinesFile lines = open_lines();
    EXPECT_EQ(lines.append("one\ntwo\n"), 0);
    EXPECT_EQ(lines.append("three\n"), 0);
    EXPECT_EQ(lines.lines(), 3U);
    EXPECT_THAT(lines_of(path()), ElementsAre("one", "two", "three"));
}

TEST_F(Lines, OfEarlierRunsStay) {
    leave("one\n");
    LinesFile lines = open_lines();
    EXPECT_EQ(lines.append("two\n"), 0);
    EXPECT_THAT(lines_of(path()), ElementsAre("one", "two"));
}

TEST_F(Lines, AreCutOffWhereARunWasKilledInOne) {
    const std::string tall(200'000, 'x');
    for (const std::string& whole : {std::string(), std::string("one\n"), "one\n" + tall + "\n"})
        for (const std::string& half : {std::string("h"), tall}) {
            leave(whole + half);
            LinesFile lines = open_lines();
            EXPECT_EQ(text_of(path()), whole);
            EXPECT_EQ(lines.append("next\n"), 0);
            EXPECT_EQ(text_of(path()), whole + "next\n");
        }
}

TEST_F(Lines, AreCutOffByTheFirstOfTwoThatBeginTogether) {
    constexpr int kRounds = 500;
    std::barrier together(2);
    const auto begin = [&](const char* line) {
        together.arrive_and_wait();
        LinesFile lines = open_lines();
        EXPECT_EQ(lines.append(line), 0);
        together.arrive_and_wait();
    };
    std::thread other([&] {
        for (int round = 0; round < kRounds; round++)
            begin("b\n");
    });
    for (int round = 0; round < kRounds; round++) {
        leave("whole\nha");
        begin("a\n");
        EXPECT_THAT(lines_of(path()), UnorderedElementsAre("whole", "a", "b")) << round;
    }
    other.join();
}

TEST_F(Lines, ThatSomebodyIsWritingAreLeftAlone) {
    const LinesFile live = open_lines();
    leave("one\nha");
    const LinesFile second = open_lines();
    EXPECT_EQ(text_of(path()), "one\nha");
}

TEST_F(Lines, EndWholeWhereTheDiskEnds) {
    leave("0123456\n");
    LinesFile lines = open_lines();
    const FileSizeLimit limit(21);
    EXPECT_EQ(lines.append("abcd\nefgh\nijkl\n"), EFBIG);
    EXPECT_EQ(lines.lines(), 2U);
    EXPECT_EQ(text_of(path()), "0123456\nabcd\nefgh\n");
    EXPECT_EQ(lines.append("ij\n"), 0);
    EXPECT_EQ(lines.append("k\n"), EFBIG);
    EXPECT_EQ(text_of(path()), "0123456\nabcd\nefgh\nij\n");
}

TEST_F(Lines, OfSeveralThreadsAndProcessesAreNeverMixed) {
    constexpr int kEach = 2000;
    const auto write = [this](char name) {
        LinesFile lines = open_lines();
        for (int i = 0; i < kEach; i++)
            if (lines.append(fmt::format("{} {} {}\n", name, i,
                                         std::string(static_cast<std::size_t>(i) % 300, name))) != 0)
                return false;
        return true;
    };
    const pid_t pid = fork();
    if (pid == 0)
        _exit(write('p') ? 0 : 1);
    std::thread thread([&] { EXPECT_TRUE(write('t')); });
    EXPECT_TRUE(write('m'));
    thread.join();
    int status = 1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    std::map<char, int> next;
    for (const std::string& line : lines_of(path())) {
        const char name = line.empty() ? '?' : line[0];
        const int i = next[name]++;
        ASSERT_EQ(line,
                  fmt::format("{} {} {}", name, i, std::string(static_cast<std::size_t>(i) % 300, name)));
    }
    EXPECT_THAT(next, (std::map<char, int>{{'m', kEach}, {'p', kEach}, {'t', kEach}}));
}

/// Tests a process that is killed. It writes lines as fast as it can, and reports over a pipe how many are
/// written.
TEST_F(Lines, AreThereWhenTheirProcessIsKilled) {
    constexpr std::size_t kLine = 301;
    for (int round = 0; round < 20; round++) {
        std::filesystem::remove(path());
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        fcntl(ends[1], F_SETPIPE_SZ, 4096);
        const pid_t pid = fork();
        if (pid == 0) {
            LinesFile lines = open_lines();
            const std::string line = std::string(kLine - 1, 'x') + '\n';
            for (char c = 0;; c++)
                if (lines.append(line) != 0 || write(ends[1], &c, 1) != 1)
                    _exit(1);
        }
        close(ends[1]);
        char c = 0;
        for (int i = 0; i < 50 + 37 * round; i++)
            ASSERT_EQ(read(ends[0], &c, 1), 1);
        kill(pid, SIGKILL);
        auto known = static_cast<std::size_t>(50 + 37 * round);
        while (read(ends[0], &c, 1) == 1)
            known++;
        close(ends[0]);
        ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
        const LinesFile next = open_lines();
        const std::string text = text_of(path());
        ASSERT_EQ(text.size() % kLine, 0U) << "no half line is left";
        const std::size_t there = text.size() / kLine;
        EXPECT_GE(there, known);
        EXPECT_LE(there, known + 1) << "one that was written and not told";
    }
}

TEST_F(Lines, AreWrittenToRegularFilesOnly) {
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
    EXPECT_THAT(error_of([&] { open_lines(); }), HasSubstr("it is not a regular file"));
    std::filesystem::remove(path());
    std::filesystem::create_symlink("elsewhere", path());
    EXPECT_THAT(error_of([&] { open_lines(); }), HasSubstr("it is a link; remove it"));
    EXPECT_THAT(directory_.names(), ElementsAre("lines"));
}

TEST_F(Lines, AreNotWrittenToAFileThatSomethingElseWrites) {
    const FileUse capture(path(), FileUse::Way::write, "the capture of s0 writes", "c");
    EXPECT_THAT(error_of([&] { open_lines(); }), HasSubstr("the capture of s0 writes"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
