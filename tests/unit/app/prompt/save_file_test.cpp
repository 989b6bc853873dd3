// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/save_file.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"

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

TEST(FileFrom, RelativeNamesAreFromWhereOneIs) {
    EXPECT_EQ(file_from("/tmp/x", "a.toml"), "/tmp/x/a.toml");
    EXPECT_EQ(file_from("/", "a"), "/a");
    EXPECT_EQ(file_from("/tmp/x", "/a"), "/a");
    EXPECT_EQ(file_from("", "a"), "a");
}

}  // namespace
}  // namespace spead::app
