// SPDX-License-Identifier: BSD-3-Clause
#include "observe/report_file.hpp"

#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace {

/// Is called when a file was made.
const std::function<void()>* after_creation = nullptr;

}  // namespace

// Stands before that of the C library.
extern "C" int openat64(int directory, const char* name, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    const auto file = static_cast<int>(syscall(SYS_openat, directory, name, flags, mode));
    if (file >= 0 && (flags & O_CREAT) != 0 && after_creation != nullptr)
        (*after_creation)();
    return file;
}

namespace spead::observe {
namespace {

namespace fs = std::filesystem;

TEST(ReportFile, ACheckLeavesFilesAsTheyWere) {
    const spead::test::ScratchDirectory scratch;
    check_writable(scratch.file("new"));
    fs::create_symlink("new", scratch.file("link"));
    check_writable(scratch.file("link"));
    EXPECT_FALSE(fs::exists(scratch.file("new")));
    EXPECT_TRUE(fs::is_symlink(scratch.file("link")));
    std::ofstream(scratch.file("old")) << "text";
    check_writable(scratch.file("old"));
    EXPECT_EQ(fs::file_size(scratch.file("old")), 4U);
    test::expect_passing_error([&] { check_writable(scratch.file("none/report")); },
                               {"none/report: cannot write the report here: No such file"});
}

TEST(ReportFile, ACheckRemovesNoOtherFileThatItsPathLeadsToByThen) {
    const spead::test::ScratchDirectory scratch;
    const std::string here = scratch.file("here");
    const std::string there = scratch.file("there");
    fs::create_directory(here);
    fs::create_directory(there);
    std::ofstream(there + "/report") << "precious";
    const std::function<void()> exchange = [&] {
        EXPECT_EQ(renameat2(AT_FDCWD, here.c_str(), AT_FDCWD, there.c_str(), RENAME_EXCHANGE), 0);
    };
    after_creation = &exchange;
    check_writable(here + "/report");
    after_creation = nullptr;
    EXPECT_TRUE(fs::exists(here + "/report"));
}

}  // namespace
}  // namespace spead::observe
