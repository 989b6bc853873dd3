// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_file.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

namespace fs = std::filesystem;
using spead::test::refusal;
using testing::AllOf;
using testing::HasSubstr;

class SocketFileTest : public testing::Test {
  protected:
    std::string path() const { return scratch_.file("s"); }
    std::string why_not() const {
        return refusal([&] { SocketFile(path(), "here").listen(0, "end it"); });
    }
    /// Binds a socket of this type to the path, and listens if it can.
    FileDescriptor bound(int type) const {
        FileDescriptor made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        const sockaddr_un address = unix_address(path());
        EXPECT_EQ(bind(made.get(), as_address(address), sizeof address), 0) << std::strerror(errno);
        return made;
    }

    const spead::test::ScratchDirectory scratch_;
};

TEST_F(SocketFileTest, IsForItsUserAndGoesWithItsOwner) {
    {
        SocketFile file(path(), "here");
        const FileDescriptor listener = file.listen(0, "");
        struct stat there {};
        ASSERT_EQ(lstat(path().c_str(), &there), 0);
        EXPECT_EQ(there.st_mode & 0777U, 0600U);
        EXPECT_EQ(who_listens(path()), getpid());
        EXPECT_EQ(why_not(), fmt::format("here: process {} already listens at this path; end it", getpid()));
        EXPECT_TRUE(fs::is_socket(path())) << "who was refused removes nothing";
    }
    EXPECT_TRUE(fs::is_empty(scratch_.path())) << "nor is anything beside it";
}

TEST_F(SocketFileTest, ReplacesTheSocketOfAnEndedProcessOnly) {
    bound(SOCK_STREAM);
    EXPECT_EQ(who_listens(path()), std::nullopt);
    EXPECT_EQ(why_not(), "");
    // It is alive, but connecting as a stream gives an error.
    const FileDescriptor alive = bound(SOCK_DGRAM);
    EXPECT_THAT(why_not(), AllOf(HasSubstr("here: a process may listen at this path already ("),
                                 HasSubstr("); end it")));
    EXPECT_TRUE(fs::is_socket(path()));
    fs::remove(path());
    std::ofstream(path()) << "a file";
    EXPECT_THAT(why_not(), HasSubstr("it is a file, not a socket"));
    EXPECT_EQ(fs::file_size(path()), 6U);
}

TEST_F(SocketFileTest, IsMadeAndRemovedWhereItsPathLedAtFirst) {
    fs::create_directory(scratch_.file("a"));
    {
        SocketFile file(scratch_.file("a/s"), "here");
        fs::rename(scratch_.file("a"), scratch_.file("b"));
        fs::create_directory(scratch_.file("a"));
        std::ofstream(scratch_.file("a/s")) << "another's";
        const FileDescriptor listener = file.listen(0, "");
        EXPECT_EQ(who_listens(scratch_.file("b/s")), getpid());
    }
    EXPECT_TRUE(fs::is_empty(scratch_.file("b")));
    EXPECT_TRUE(fs::is_regular_file(scratch_.file("a/s")));
}

TEST_F(SocketFileTest, LeavesAnotherSocketThatHasItsName) {
    FileDescriptor other;
    {
        SocketFile file(path(), "here");
        const FileDescriptor listener = file.listen(0, "");
        fs::rename(path(), scratch_.file("moved"));
        other = bound(SOCK_STREAM);
    }
    EXPECT_TRUE(fs::is_socket(path()));
}

TEST_F(SocketFileTest, HasOneListenerHoweverManyStartAtOnce) {
    for (int round = 0; round < 20; round++) {
        bound(SOCK_STREAM);
        std::atomic<int> listening{0};
        std::atomic<int> ready{0};
        std::vector<std::thread> all;
        for (int t = 0; t < 4; t++)
            all.emplace_back([&] {
                SocketFile file(path(), "here");
                for (ready++; ready < 4;)
                    std::this_thread::yield();
                FileDescriptor listener;
                if (refusal([&] { listener = file.listen(0, ""); }).empty())
                    listening++;
                for (ready++; ready < 8;)
                    std::this_thread::yield();
            });
        for (std::thread& t : all)
            t.join();
        EXPECT_EQ(listening, 1);
        EXPECT_TRUE(fs::is_empty(scratch_.path()));
    }
}

TEST_F(SocketFileTest, NeedsADirectoryAndAShortName) {
    EXPECT_EQ(test::error_of([&] { SocketFile file(scratch_.file("none/s"), "here"); }),
              "here: cannot listen at this path: No such file or directory");
    SocketFile long_name(scratch_.file(std::string(100, 'x')), "here");
    EXPECT_THAT(test::error_of([&] { long_name.listen(0, ""); }), HasSubstr("the name has 100 bytes"));
    EXPECT_THROW(unix_address(std::string(108, 'x')), UsageError);
    EXPECT_TRUE(fs::is_empty(scratch_.path()));
}

}  // namespace
}  // namespace spead
