// SPDX-License-Identifier: BSD-3-Clause
#include "sink/raw_file.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/sink/raw_rig.hpp"

namespace spead::sink::unit_test {
namespace {

TEST(RawFile, TakesRoomInAdvanceAndGivesItBack) {
    const RawDirectory directory;
    const auto file = directory.open("a");
    file->reserve(10, 65536);
    EXPECT_EQ(std::filesystem::file_size(directory.path() + "/a"), 65536U);
    file->reserve(65536, 65536);
    EXPECT_EQ(std::filesystem::file_size(directory.path() + "/a"), 65536U);
    file->reserve(65537, 65536);
    EXPECT_EQ(std::filesystem::file_size(directory.path() + "/a"), 131072U);
    EXPECT_EQ(file->finish(5), 0);
    EXPECT_EQ(std::filesystem::file_size(directory.path() + "/a"), 5U);
}

TEST(RawFile, TakesNoRoomInAdvanceUnlessAsked) {
    const RawDirectory directory;
    const auto file = directory.open("a");
    file->reserve(10, 0);
    EXPECT_EQ(std::filesystem::file_size(directory.path() + "/a"), 0U);
}

/// Tests a disk that accepts O_DIRECT, and then wants larger sectors than ours.
TEST(RawFile, WritesThroughThePageCacheWhatTheDiskRefusesOtherwise) {
    const RawDirectory directory;
    const auto file = directory.open("a");
    if (!file->direct())
        GTEST_SKIP() << "no O_DIRECT in " << directory.path();
    const std::string text = "no sector";
    EXPECT_EQ(file->write(std::as_bytes(std::span(text)), 3), 0);
    EXPECT_FALSE(file->direct());
    EXPECT_EQ(file->finish(12), 0);
    EXPECT_EQ(directory.text("a"), std::string(3, '\0') + text);
}

}  // namespace
}  // namespace spead::sink::unit_test
