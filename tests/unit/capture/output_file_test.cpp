// SPDX-License-Identifier: BSD-3-Clause
#include "capture/output_file.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/scratch_directory.hpp"

namespace spead::capture {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes(std::size_t n, unsigned seed) {
    std::vector<std::byte> out(n);
    for (std::size_t i = 0; i < n; i++)
        out[i] = static_cast<std::byte>(i * 7 + seed);
    return out;
}

std::vector<std::byte> content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

/// Runs each test with cached I/O, and with direct I/O if the file system has it.
class Direct : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        if (!GetParam())
            return;
        try {
            const OutputFile probe(scratch.file("probe"), true, "test");
        } catch (const Error& error) {
            GTEST_SKIP() << error.what();
        }
    }
    spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
};
INSTANTIATE_TEST_SUITE_P(Both, Direct, testing::Bool(),
                         [](const auto& p) { return p.param ? "direct" : "cached"; });

TEST_P(Direct, HoldsEveryByteAndNoMore) {
    // Below a block, a block, above the stage, and not a multiple of anything.
    for (const std::size_t size : {0U, 1U, 4096U, 4097U, 1U << 20, (1U << 20) + 1, 3'456'789U}) {
        const std::string path = scratch.file("out");
        const auto data = bytes(size, 3);
        {
            OutputFile file(path, GetParam(), "test");
            for (std::size_t at = 0; at < size;) {
                const std::size_t n = std::min<std::size_t>(size - at, 100'003);
                ASSERT_TRUE(file.append(std::span(data).subspan(at, n)));
                at += n;
                EXPECT_EQ(file.size(), at);
                EXPECT_LE(file.written(), file.size());
            }
            EXPECT_TRUE(file.close());
            EXPECT_EQ(file.written(), size);
            EXPECT_EQ(file.failure(), "");
        }
        EXPECT_TRUE(content(path) == data) << size;
    }
}

TEST_P(Direct, AShorterFileReplacesALongerOne) {
    const std::string path = scratch.file("out");
    for (const std::size_t size : {100'000U, 10U}) {
        OutputFile file(path, GetParam(), "test");
        EXPECT_TRUE(file.append(bytes(size, 1)));
    }
    EXPECT_EQ(content(path), bytes(10, 1));
}

TEST_P(Direct, AFullDiskIsAFailureThatSaysWhatIsThere) {
    const std::string path = scratch.file("out");
    const auto data = bytes(5'000'000, 9);
    const spead::test::FileSizeLimit limit(3'000'001);
    OutputFile file(path, GetParam(), "test");
    bool good = true;
    for (std::size_t at = 0; at < data.size() && good; at += 500'000)
        good = file.append(std::span(data).subspan(at, 500'000));
    EXPECT_FALSE(good);
    EXPECT_EQ(file.failure(), "File too large");
    EXPECT_FALSE(file.append(bytes(1, 0))) << "nothing is written after a failure";
    EXPECT_LE(file.written(), 3'000'001U);
    EXPECT_GT(file.written(), 1'900'000U);
    file.cut(1234);
    EXPECT_EQ(file.written(), 1234U);
    EXPECT_FALSE(file.close());
    EXPECT_TRUE(content(path) == std::vector(data.begin(), data.begin() + 1234));
}

TEST(OutputFile, WhatCannotBeWrittenIsRefusedByName) {
    const spead::test::ScratchDirectory scratch;
    const auto refusal = [](const std::string& path) {
        try {
            const OutputFile file(path, false, "here");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refusal(scratch.file("none/out")), HasSubstr("No such file or directory"));
    EXPECT_THAT(refusal(scratch.path().string()), HasSubstr("here: cannot write the capture file"));
    EXPECT_THAT(refusal("/dev/null"), HasSubstr("it is not a regular file"));
    const std::string pipe = scratch.file("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT(refusal(pipe), HasSubstr("cannot write the capture file"));
}

}  // namespace
}  // namespace spead::capture
