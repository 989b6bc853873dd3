// SPDX-License-Identifier: BSD-3-Clause
#include "base/start_lock.hpp"

#include <atomic>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(StartLock, IsAFileThatOnlyItsUserCanOpenAndGoes) {
    const spead::test::ScratchDirectory directory;
    const OutputPlace place = find_output(directory.file("p.sock"));
    const std::string path = directory.file("p.sock");
    {
        const StartLock lock(place, path);
        struct stat there {};
        ASSERT_EQ(stat((path + ".lock").c_str(), &there), 0);
        EXPECT_EQ(there.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(fs::exists(path + ".lock"));
}

TEST(StartLock, HasOneHolderAtATime) {
    const spead::test::ScratchDirectory directory;
    const OutputPlace place = find_output(directory.file("p.sock"));
    std::atomic<int> inside{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 8; t++)
        all.emplace_back([&] {
            for (int i = 0; i < 20; i++) {
                const StartLock lock(place, "here");
                EXPECT_EQ(inside.fetch_add(1), 0);
                std::this_thread::yield();
                inside.fetch_sub(1);
            }
        });
    for (std::thread& t : all)
        t.join();
    EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(StartLock, IsNoOtherUsersFileNorALinkNorAPipe) {
    const spead::test::ScratchDirectory directory;
    const OutputPlace place = find_output(directory.file("p.sock"));
    const std::string file = directory.file("p.sock.lock");
    ASSERT_EQ(symlink("/etc/passwd", file.c_str()), 0);
    EXPECT_THROW(StartLock(place, "here"), Error);
    ASSERT_EQ(unlink(file.c_str()), 0);
    ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
    EXPECT_THAT([&] { StartLock(place, "here"); },
                ThrowsMessage<Error>(HasSubstr("belongs to another user")));
    EXPECT_TRUE(fs::exists(file)) << "it is not ours to remove";
    if (geteuid() != 0)
        return;
    ASSERT_EQ(unlink(file.c_str()), 0);
    close(open(file.c_str(), O_CREAT | O_WRONLY, 0666));
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    EXPECT_THAT([&] { StartLock(place, "here"); },
                ThrowsMessage<Error>(HasSubstr("belongs to another user")));
}

TEST(StartLock, IsWhereTheNameWasFound) {
    const spead::test::ScratchDirectory directory;
    fs::create_directory(directory.file("a"));
    const OutputPlace place = find_output(directory.file("a/p.sock"));
    fs::rename(directory.file("a"), directory.file("b"));
    fs::create_directory(directory.file("a"));
    const StartLock lock(place, "here");
    EXPECT_TRUE(fs::exists(directory.file("b/p.sock.lock")));
    EXPECT_TRUE(fs::is_empty(directory.file("a")));
}

}  // namespace
}  // namespace spead
