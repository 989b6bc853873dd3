// SPDX-License-Identifier: BSD-3-Clause
#include "base/open_output.hpp"

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.hpp"

namespace spead {
namespace {

namespace fs = std::filesystem;
using spead::test::ScratchDirectory;
using testing::AllOf;
using testing::HasSubstr;

constexpr uid_t kStranger = 12345;

ino_t inode_of(int fd) {
    struct stat facts {};
    return fstat(fd, &facts) == 0 ? facts.st_ino : 0;
}
ino_t inode_of(const std::string& path) {
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

/// Holds a victim's file in a directory of its own, and a directory where links and files may be planted.
class OpenOutput : public testing::Test {
  protected:
    OpenOutput() {
        fs::create_directory(place());
        fs::create_directory(scratch_.file("safe"));
        std::ofstream(victim()) << "precious";
    }
    std::string place() const { return scratch_.file("place"); }
    std::string victim() const { return scratch_.file("safe/victim"); }
    std::string name() const { return place() + "/out"; }
    void mode(mode_t mode) const { ASSERT_EQ(chmod(place().c_str(), mode), 0); }
    /// Returns false where this process may not give files away.
    static bool give_to_stranger(const std::string& path) {
        return lchown(path.c_str(), kStranger, static_cast<gid_t>(-1)) == 0;
    }
    void expect_opened(const std::string& path, const std::string& what) const {
        const OpenedOutput opened = open_output(path);
        EXPECT_EQ(opened.reason, "");
        EXPECT_EQ(why_not_output(path), "");
        EXPECT_EQ(inode_of(opened.file.get()), inode_of(what));
    }
    void expect_refused(const std::string& path, const char* why) const {
        const OpenedOutput opened = open_output(path);
        EXPECT_FALSE(opened.file) << path;
        EXPECT_EQ(opened.error, EPERM);
        EXPECT_THAT(opened.reason, HasSubstr(why));
        EXPECT_EQ(why_not_output(path), opened.reason);
        EXPECT_EQ(fs::file_size(victim()), 8U) << "nothing was written";
    }

    const ScratchDirectory scratch_;
    const TrustedUsersInstead trusted_{{geteuid()}};
};

TEST_F(OpenOutput, MakesAFileAndNeverEmptiesOne) {
    EXPECT_TRUE(open_output(name()).file);
    EXPECT_TRUE(fs::exists(name()));
    expect_opened(victim(), victim());
    EXPECT_EQ(fs::file_size(victim()), 8U);
}

TEST_F(OpenOutput, TellsWhyNot) {
    EXPECT_EQ(open_output(scratch_.file("none/out")).reason, "No such file or directory");
    EXPECT_EQ(open_output(victim() + "/out").reason, "Not a directory");
    EXPECT_EQ(open_output(place()).reason, "Is a directory");
    EXPECT_EQ(open_output(place() + "/new/").reason, "Is a directory");
    EXPECT_EQ(open_output("").reason, "No such file or directory");
    EXPECT_EQ(open_output(victim(), O_EXCL).reason, "File exists");
    fs::create_symlink("b", place() + "/a");
    fs::create_symlink("a", place() + "/b");
    EXPECT_EQ(open_output(place() + "/a").error, ELOOP);
}

TEST_F(OpenOutput, FollowsLinksWhereOnlyTrustedUsersCanMakeThem) {
    fs::create_symlink(victim(), name());
    expect_opened(name(), victim());
    fs::create_symlink("../safe/../safe/victim", place() + "/relative");
    expect_opened(place() + "/relative", victim());
    fs::create_directory_symlink("../safe", place() + "/directory");
    expect_opened(place() + "/directory/victim", victim());
    expect_opened(place() + "/./directory//victim", victim());
    fs::create_symlink("out", place() + "/twice");
    expect_opened(place() + "/twice", victim());
    fs::create_symlink("../safe/new", place() + "/dangling");
    EXPECT_TRUE(open_output(place() + "/dangling").file);
    EXPECT_TRUE(fs::exists(scratch_.file("safe/new")));
}

TEST_F(OpenOutput, FollowsNoLinkWhereEverybodyCanMakeOneOrMoveOne) {
    fs::create_symlink(victim(), name());
    mode(0777);
    expect_refused(name(), "its path leads through `out`, a link of user");
    fs::create_directory_symlink(scratch_.file("safe"), place() + "/directory");
    expect_refused(place() + "/directory/victim", "through `directory`");
    fs::create_symlink("../safe/new", place() + "/dangling");
    expect_refused(place() + "/dangling", "through `dangling`");
    EXPECT_FALSE(fs::exists(scratch_.file("safe/new")));
    // Neither on the way of another link, that may be followed.
    fs::create_symlink("../place/out", scratch_.file("safe/far"));
    expect_refused(scratch_.file("safe/far"), "through `out`");
}

TEST_F(OpenOutput, FollowsOurOwnLinksInAStickyDirectoryAndThoseOfOurGroup) {
    fs::create_symlink(victim(), name());
    mode(01777);
    expect_opened(name(), victim());
    mode(0775);
    expect_opened(name(), victim());
    if (!give_to_stranger(name()))
        GTEST_SKIP() << "only root can give a link away";
    expect_refused(name(), "a link of user 12345 in a directory that others can write");
    mode(01777);
    expect_refused(name(), "a link of user 12345");
    mode(0755);
    expect_opened(name(), victim());
}

TEST_F(OpenOutput, TrustsNoLinkInADirectoryOfAStranger) {
    fs::create_symlink(victim(), name());
    const TrustedUsersInstead other({kStranger});
    expect_refused(name(), "its path leads through `out`");
    expect_refused(scratch_.file("place/../place/out"), "its path leads through `out`");
}

TEST_F(OpenOutput, TakesNoFileOfAStrangerWhereOthersCanWrite) {
    std::ofstream(name()) << "planted";
    if (!give_to_stranger(name()))
        GTEST_SKIP() << "only root can give a file away";
    mode(01777);
    expect_refused(name(), "it belongs to user 12345");
    mode(0755);
    expect_opened(name(), name());
    // The owner of the directory could exchange the file anyway.
    ASSERT_TRUE(give_to_stranger(place()));
    expect_opened(name(), name());
}

TEST_F(OpenOutput, TakesNoSecondNameOfAFileWhereOthersCanWrite) {
    fs::create_hard_link(victim(), name());
    expect_opened(name(), victim());
    mode(0775);
    expect_opened(name(), victim());
    mode(01777);
    expect_refused(name(), "it has a second hard link");
}

TEST_F(OpenOutput, OpensOwnFilesInAStickyDirectory) {
    mode(01777);
    EXPECT_TRUE(open_output(name()).file);
    expect_opened(name(), name());
}

TEST_F(OpenOutput, FollowsTheLinksOfTheKernel) {
    const OpenedOutput opened = open_output(name());
    const std::string link = "/proc/self/fd/" + std::to_string(opened.file.get());
    mode(0777);
    expect_opened(link, name());
    EXPECT_TRUE(open_output("/dev/null").file);
    EXPECT_TRUE(open_output_directory("/proc/self/cwd").file);
}

TEST_F(OpenOutput, OpensAndMakesDirectories) {
    for (const std::string& path : {place(), place() + "/", place() + "/.", place() + "/../place/new",
                                    std::string("."), std::string("/"), scratch_.file("safe/..")})
        EXPECT_EQ(open_output_directory(path, true).reason, "") << path;
    EXPECT_TRUE(fs::is_directory(place() + "/new"));
    EXPECT_EQ(open_output_directory(place() + "/none").reason, "No such file or directory");
    EXPECT_EQ(open_output_directory(victim(), true).reason, "Not a directory");
    fs::create_directory_symlink("../safe", name());
    EXPECT_EQ(inode_of(open_output_directory(name()).file.get()), inode_of(scratch_.file("safe")));
    mode(0777);
    EXPECT_THAT(open_output_directory(name(), true).reason, HasSubstr("its path leads through `out`"));
}

TEST_F(OpenOutput, FindsThePlaceOfANameAndLeavesTheNameAlone) {
    fs::create_symlink(victim(), name());
    mode(0777);
    const OutputPlace place = find_output(name());
    EXPECT_EQ(place.name, "out");
    EXPECT_EQ(inode_of(place.directory.file.get()), inode_of(this->place()));
    fs::create_directory_symlink("../safe", this->place() + "/directory");
    EXPECT_THAT(find_output(this->place() + "/directory/x").directory.reason, HasSubstr("`directory`"));
}

/// Tests against a thread that exchanges the file and a link as fast as it can.
TEST_F(OpenOutput, IsNotDeceivedByAnExchangeWhileItLooks) {
    mode(0777);
    std::ofstream(name()) << "own";
    fs::create_symlink(victim(), place() + "/link");
    std::atomic<bool> over{false};
    std::thread exchanger([&] {
        while (!over)
            renameat2(AT_FDCWD, name().c_str(), AT_FDCWD, (place() + "/link").c_str(), RENAME_EXCHANGE);
    });
    const ino_t precious = inode_of(victim());
    int opened = 0;
    for (int i = 0; i < 3000; i++) {
        const OpenedOutput out = open_output(name());
        if (!out.file)
            continue;
        opened++;
        ASSERT_NE(inode_of(out.file.get()), precious);
    }
    over = true;
    exchanger.join();
    EXPECT_GT(opened, 0);
}

TEST_F(OpenOutput, RemovesOnlyTheFileThatItMade) {
    OpenedOutput opened = open_output(name());
    fs::rename(name(), place() + "/moved");
    remove_output(name(), opened.file.get());
    std::ofstream(name()) << "another's";
    remove_output(name(), opened.file.get());
    EXPECT_TRUE(fs::exists(name()));
    EXPECT_TRUE(fs::exists(place() + "/moved"));
    fs::create_symlink("moved", place() + "/link");
    remove_output(place() + "/link", opened.file.get());
    EXPECT_FALSE(fs::exists(place() + "/moved"));
    EXPECT_TRUE(fs::is_symlink(place() + "/link"));
}

}  // namespace
}  // namespace spead
