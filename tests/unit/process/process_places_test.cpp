// SPDX-License-Identifier: BSD-3-Clause
#include "process/process_places.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace spead::process {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

/// Makes a machine below a directory. One user owns everything there.
class ProcessPlaces : public testing::Test {
  protected:
    ProcessPlaces() {
        std::string pattern = testing::TempDir() + "/places-XXXXXX";
        root_ = mkdtemp(pattern.data());
    }
    ~ProcessPlaces() override { fs::remove_all(root_); }

    std::string in(const std::string& path) const { return (root_ / path).string(); }
    void make(const std::string& path, mode_t mode = 0755) const {
        fs::create_directories(root_ / path);
        chmod(in(path).c_str(), mode);
    }
    std::vector<Place> places(std::string_view kind, uid_t user) const {
        return process_places(kind, {[this](const char* name) -> const char* {
                                         const auto found = variables_.find(name);
                                         return found == variables_.end() ? nullptr : found->second.c_str();
                                     },
                                     user, root_.string()});
    }
    /// Holds the user who owns everything. `other_` is another user.
    const uid_t owner_ = geteuid();
    const uid_t other_ = geteuid() + 1;
    std::map<std::string, std::string> variables_;
    fs::path root_;
};

TEST_F(ProcessPlaces, ThisUsersComeFirstAndNoneTwice) {
    make("run/user/7/dpdk");
    make("run/dpdk");
    make("run/mine/dpdk");
    make("tmp/dpdk");
    fs::create_directory_symlink(root_ / "run", root_ / "var");
    variables_ = {{"XDG_RUNTIME_DIR", in("run/user/7")},
                  {"RUNTIME_DIRECTORY", in("var/mine") + ":" + in("run/other")}};
    const std::vector<Place> found = places("dpdk", owner_);
    EXPECT_THAT(found, UnorderedElementsAre(Place{in("var/mine/dpdk"), owner_, true},
                                            Place{in("run/user/7/dpdk"), owner_, true},
                                            Place{in("run/dpdk"), owner_, true},
                                            Place{in("tmp/dpdk"), owner_, true}));
    EXPECT_EQ(found.front().directory, in("var/mine/dpdk"));
    EXPECT_EQ(found.back().directory, in("tmp/dpdk"));
}

TEST_F(ProcessPlaces, WhatServicesHaveIsTrustedWhoeverTheyRunAs) {
    make("run/dpdk-spead/xengines/dpdk");
    make("run/dpdk-spead/xengines/dpdk-spead");
    make("run/private/dpdk");
    make("run/another/dpdk");
    fs::create_directory_symlink(root_ / "run/private", root_ / "run/dpdk-spead/linked");
    EXPECT_THAT(places("dpdk", other_), ElementsAre(Place{in("run/dpdk-spead/linked/dpdk"), owner_, true},
                                                    Place{in("run/dpdk-spead/xengines/dpdk"), owner_, true},
                                                    Place{in("run/another/dpdk"), owner_, true}));
    EXPECT_THAT(places("dpdk-spead", other_),
                ElementsAre(Place{in("run/dpdk-spead/xengines/dpdk-spead"), owner_, true},
                            Place{in("run/dpdk-spead"), owner_, true}));
}

TEST_F(ProcessPlaces, WhatOthersCanHaveMadeIsNotTrusted) {
    make("run/user/7/dpdk");
    make("tmp/dpdk");
    make("run/lock", 01777);
    make("run/lock/dpdk");
    make("run/open/dpdk", 0777);
    EXPECT_THAT(places("dpdk", other_), ElementsAre(Place{in("run/lock/dpdk"), owner_, owner_ == 0},
                                                    Place{in("run/open/dpdk"), owner_, false},
                                                    Place{in("run/user/7/dpdk"), owner_, owner_ == 0},
                                                    Place{in("tmp/dpdk"), owner_, owner_ == 0}))
        << "what is root's is root's, wherever it is";
}

TEST_F(ProcessPlaces, LinksOfOthersAreNotFollowed) {
    make("run/dpdk");
    make("tmp");
    make("run/user/7");
    fs::create_directory_symlink(root_ / "run/dpdk", root_ / "tmp/dpdk");
    fs::create_directory_symlink(root_ / "run/dpdk", root_ / "run/user/7/dpdk");
    variables_ = {{"XDG_RUNTIME_DIR", "relative"}};
    EXPECT_THAT(places("dpdk", other_), ElementsAre(Place{in("run/dpdk"), owner_, true}));
    fs::remove_all(root_ / "run/dpdk");
    EXPECT_THAT(places("dpdk", other_), IsEmpty());
}

TEST_F(ProcessPlaces, EntriesAreBounded) {
    for (int i = 0; i < 20; i++)
        std::ofstream(in("f" + std::to_string(i)));
    std::ofstream(in(".hidden"));
    EXPECT_EQ(entries_of(root_.string(), 100).size(), 20u);
    EXPECT_EQ(entries_of(root_.string(), 7).size(), 7u);
    EXPECT_THAT(entries_of(in("none"), 7), IsEmpty());
}

TEST_F(ProcessPlaces, ASocketIsNoFileAndNoLinkToOne) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    in("s").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::ofstream(in("f"));
    fs::create_symlink(root_ / "s", root_ / "l");
    EXPECT_TRUE(is_socket_file(in("s")));
    EXPECT_FALSE(is_socket_file(in("l")));
    EXPECT_FALSE(is_socket_file(in("f")));
    EXPECT_FALSE(is_socket_file(in("none")));
    close(fd);
    fs::create_directory_symlink(root_, root_ / "d");
    EXPECT_TRUE(is_directory_itself(root_.string()));
    EXPECT_FALSE(is_directory_itself(in("d")));
    EXPECT_FALSE(is_directory_itself(in("f")));
}

}  // namespace
}  // namespace spead::process
