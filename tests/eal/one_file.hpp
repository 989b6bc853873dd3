// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

/// Runs the tests of one source file. The files of a room are one program, since most of a test file's
/// compile time goes into headers; but each file has a process of its own, since EAL can be initialised once
/// in a process.
namespace spead::test {

/// Returns the stem of the file that has `test`: "memif_test" of "../tests/eal/port/memif_test.cpp".
inline std::string stem_of(const testing::TestInfo& test) {
    const std::string_view path = test.file();
    const std::string_view name = path.substr(path.find_last_of('/') + 1);
    return std::string(name.substr(0, name.find_last_of('.')));
}

/// Lets only the tests run that --gtest_filter names, if it is given, or those of the file that `--file=STEM`
/// names. Removes that option. Call it after InitGoogleTest. Returns false if the option is missing or names
/// no file; standard error has the names.
inline bool choose_file(int& argc, char** argv) {
    constexpr std::string_view kOption = "--file=";
    std::string wanted;
    int kept = 1;
    for (int i = 1; i < argc; i++) {
        const std::string_view word = argv[i];
        if (word.starts_with(kOption))
            wanted = word.substr(kOption.size());
        else
            argv[kept++] = argv[i];
    }
    argc = kept;

    std::set<std::string> files;
    std::string tests;
    const testing::UnitTest& all = *testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); s++) {
        const testing::TestSuite& suite = *all.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); t++) {
            const testing::TestInfo& test = *suite.GetTestInfo(t);
            const std::string file = *files.insert(stem_of(test)).first;
            if (file == wanted)
                tests += std::string(suite.name()) + "." + test.name() + ":";
        }
    }
    if (wanted.empty() && (files.size() == 1 || testing::GTEST_FLAG(filter) != "*"))
        return true;
    if (tests.empty()) {
        std::fprintf(stderr,
                     "%s: no tests in a file called '%s': say --file=NAME or --gtest_filter, NAME is one of",
                     argv[0], wanted.c_str());
        for (const std::string& file : files)
            std::fprintf(stderr, " %s", file.c_str());
        std::fprintf(stderr, "\n");
        return false;
    }
    if (testing::GTEST_FLAG(filter) == "*")
        testing::GTEST_FLAG(filter) = tests;
    return true;
}

}  // namespace spead::test
