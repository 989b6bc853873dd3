// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/save_file.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <sstream>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "app/api/work_queue.hpp"
#include "base/error.hpp"
#include "tests/support/refusal.hpp"

namespace {

/// Says whether the file systems of this program answer nobody.
std::atomic<bool> no_disk_answers{false};

}  // namespace

/// Replaces that of the C library in this program.
extern "C" int fsync(int fd) {
    no_disk_answers.wait(true);
    return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace spead::app {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SaveFileTest : public testing::Test {
  protected:
    SaveFileTest() {
        std::string pattern = testing::TempDir() + "/save-file-XXXXXX";
        directory_ = mkdtemp(pattern.data());
    }
    ~SaveFileTest() override { fs::remove_all(directory_); }
    std::string in(const std::string& name) const { return (directory_ / name).string(); }
    static std::string content(const std::string& path) {
        std::ostringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }

    fs::path directory_;
};

TEST_F(SaveFileTest, WritesTheWholeAndNothingBeside) {
    save_file(in("a"), "text", false);
    EXPECT_EQ(content(in("a")), "text");
    EXPECT_EQ(files(), 1u);
}

TEST_F(SaveFileTest, KeepsWhatIsThereUnlessTold) {
    save_file(in("a"), "old", false);
    EXPECT_THAT(test::passing_error_of([&] { save_file(in("a"), "new", false); }), HasSubstr("force"));
    EXPECT_EQ(content(in("a")), "old");
    save_file(in("a"), "new", true);
    EXPECT_EQ(content(in("a")), "new");
    EXPECT_EQ(files(), 1u);
}

TEST_F(SaveFileTest, WhatCannotBeWrittenIsAnError) {
    EXPECT_THROW(save_file(in("none/a"), "text", false), Error);
    fs::create_directory(in("d"));
    EXPECT_THAT(test::passing_error_of([&] { save_file(in("d"), "text", true); }),
                HasSubstr("it is not a regular file"));
    EXPECT_EQ(files(), 1u);
}

TEST_F(SaveFileTest, AFileSystemThatDoesNotAnswerHoldsNobody) {
    const auto save = [this](const std::string& name) {
        return test::passing_error_of(
            [&] { save_file(in(name), "text", false, std::chrono::milliseconds(1)); });
    };
    no_disk_answers = true;
    {
        // Its end waits for the job.
        WorkQueue queue("test", {});
        std::promise<std::string> said;
        ASSERT_TRUE(queue.post([&] { said.set_value(save("a")); }));
        EXPECT_THAT(said.get_future().get(), HasSubstr("has not answered for 0.001 s; nothing was saved"));
        std::string last;
        for (int i = 0; i < 8; i++)
            last = save(std::to_string(i));
        EXPECT_THAT(last, HasSubstr("8 files are being saved"));
        EXPECT_FALSE(fs::exists(in("a")));
    }
    no_disk_answers = false;
    no_disk_answers.notify_all();
    // They end without a file, so they cannot replace a later one.
    while (files() > 0)
        std::this_thread::yield();
    for (const char* const name : {"a", "0", "7"})
        EXPECT_FALSE(fs::exists(in(name)));
}

TEST(FileFrom, RelativeNamesAreFromWhereOneIs) {
    EXPECT_EQ(file_from("/tmp/x", "a.toml"), "/tmp/x/a.toml");
    EXPECT_EQ(file_from("/", "a"), "/a");
    EXPECT_EQ(file_from("/tmp/x", "/a"), "/a");
    EXPECT_EQ(file_from("", "a"), "a");
}

}  // namespace
}  // namespace spead::app
