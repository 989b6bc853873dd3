// SPDX-License-Identifier: BSD-3-Clause
#include "process/start_lock.hpp"

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

namespace spead::process {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(StartLock, IsAFileThatOnlyItsUserCanOpenAndGoes) {
    const spead::test::ScratchDirectory directory;
    const std::string path = directory.file("p.sock");
    {
        const StartLock lock(path);
        struct stat there {};
        ASSERT_EQ(stat((path + ".lock").c_str(), &there), 0);
        EXPECT_EQ(there.st_mode & 0777U, 0600U);
    }
    EXPECT_FALSE(fs::exists(path + ".lock"));
}

TEST(StartLock, HasOneHolderAtATime) {
    const spead::test::ScratchDirectory directory;
    const std::string path = directory.file("p.sock");
    std::atomic<int> inside{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 8; t++)
        all.emplace_back([&] {
            for (int i = 0; i < 20; i++) {
                const StartLock lock(path);
                EXPECT_EQ(inside.fetch_add(1), 0);
                std::this_thread::yield();
                inside.fetch_sub(1);
            }
        });
    for (std::thread& t : all)
        t.join();
    EXPECT_FALSE(fs::exists(path + ".lock"));
}

TEST(StartLock, IsNoOtherUsersFileNorALinkNorAPipe) {
    const spead::test::ScratchDirectory directory;
    const std::string path = directory.file("p.sock");
    const std::string file = path + ".lock";
    ASSERT_EQ(symlink("/etc/passwd", file.c_str()), 0);
    EXPECT_THROW(StartLock{path}, Error);
    ASSERT_EQ(unlink(file.c_str()), 0);
    ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
    EXPECT_THAT([&] { StartLock{path}; }, ThrowsMessage<Error>(HasSubstr("belongs to another user")));
    EXPECT_TRUE(fs::exists(file)) << "it is not ours to remove";
    if (geteuid() != 0)
        return;
    ASSERT_EQ(unlink(file.c_str()), 0);
    close(open(file.c_str(), O_CREAT | O_WRONLY, 0666));
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    EXPECT_THAT([&] { StartLock{path}; }, ThrowsMessage<Error>(HasSubstr("belongs to another user")));
}

TEST(StartLock, NeedsADirectory) {
    EXPECT_THAT(
        [] { StartLock("/nonexistent/p.sock"); },
        ThrowsMessage<Error>(HasSubstr("/nonexistent/p.sock: cannot make a control socket at this path")));
}

}  // namespace
}  // namespace spead::process
