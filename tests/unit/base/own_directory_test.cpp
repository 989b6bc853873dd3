// SPDX-License-Identifier: BSD-3-Clause
#include "base/own_directory.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead {
namespace {

std::string directory_of(const std::map<std::string, std::string>& variables, uid_t user) {
    return own_directory(
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        user);
}

TEST(OwnDirectory, IsTheServicesTheUsersOrRoots) {
    EXPECT_EQ(directory_of({}, 0), "/run/dpdk-spead");
    EXPECT_EQ(directory_of({{"XDG_RUNTIME_DIR", "/run/user/0"}}, 0), "/run/dpdk-spead");
    EXPECT_EQ(directory_of({{"XDG_RUNTIME_DIR", "/run/user/7"}}, 7), "/run/user/7/dpdk-spead");
    for (const uid_t user : {0u, 7u})
        EXPECT_EQ(
            directory_of({{"RUNTIME_DIRECTORY", "/run/a:/run/b"}, {"XDG_RUNTIME_DIR", "/run/user/7"}}, user),
            "/run/a/dpdk-spead");
}

TEST(OwnDirectory, MayNotBeThere) {
    EXPECT_EQ(directory_of({}, 7), "");
    EXPECT_EQ(directory_of({{"XDG_RUNTIME_DIR", ""}}, 7), "");
    EXPECT_EQ(directory_of({{"XDG_RUNTIME_DIR", "relative"}}, 7), "")
        << "not one that moves with the process";
    EXPECT_EQ(own_directory({}, 7), "");
}

TEST(OwnDirectory, IsMadeOnce) {
    std::string parent = testing::TempDir() + "/own-XXXXXX";
    ASSERT_NE(mkdtemp(parent.data()), nullptr);
    const std::string directory = parent + "/dpdk-spead";
    make_own_directory(directory, "x");
    make_own_directory(directory, "x");
    EXPECT_TRUE(std::filesystem::is_directory(directory));
    EXPECT_THROW(make_own_directory(parent + "/none/dpdk-spead", "x"), Error);
    std::filesystem::remove_all(parent);
}

}  // namespace
}  // namespace spead
