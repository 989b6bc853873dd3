// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcap_series.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/capture/records.hpp"

namespace spead::capture {
namespace {

using test::append;
using test::Kept;
using test::read_all;
using test::record;

class Series : public testing::Test {
  protected:
    /// Gives records [first, first + n) as one block.
    bool give(PcapSeries& series, std::uint64_t first, std::uint64_t n) {
        std::vector<std::byte> block;
        for (std::uint64_t i = first; i < first + n; i++)
            append(block, record(i, length(i)));
        return series.write(block, static_cast<std::uint32_t>(n));
    }
    static std::size_t length(std::uint64_t i) { return 60 + i * 37 % 1400; }

    spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
    Options options;
};

TEST_F(Series, OneFileHoldsEveryRecord) {
    const std::string path = scratch.file("a.pcap");
    PcapSeries series(path, options, "test");
    for (std::uint64_t i = 0; i < 1000; i += 100)
        ASSERT_TRUE(give(series, i, 100));
    ASSERT_TRUE(series.finish());
    EXPECT_EQ(series.packets(), 1000U);
    EXPECT_EQ(series.files(), 1U);
    EXPECT_EQ(series.bytes(), std::filesystem::file_size(path));
    const std::vector<Kept> all = read_all(path);
    ASSERT_EQ(all.size(), 1000U);
    for (std::uint64_t i = 0; i < 1000; i++)
        ASSERT_EQ(all[i], record(i, length(i)));
    EXPECT_TRUE(PcapReader(path, "test").header().nanoseconds);
}

TEST_F(Series, ARunWithoutPacketsLeavesAReadableFile) {
    const std::string path = scratch.file("a.pcap");
    EXPECT_TRUE(PcapSeries(path, options, "test").finish());
    EXPECT_TRUE(read_all(path).empty());
}

TEST_F(Series, NamesHaveTheirNumberBeforeTheExtension) {
    EXPECT_EQ(PcapSeries::numbered("d.x/a.pcap", 7), "d.x/a-00007.pcap");
    EXPECT_EQ(PcapSeries::numbered("a", 123456), "a-123456");
}

TEST_F(Series, RotatesBySizeBetweenRecordsWhereverBlocksEnd) {
    options.rotate_size = 10'000;
    const std::string path = scratch.file("a.pcap");
    PcapSeries series(path, options, "test");
    for (std::uint64_t i = 0; i < 500;) {
        const std::uint64_t n = std::min<std::uint64_t>(500 - i, 1 + i % 23);
        ASSERT_TRUE(give(series, i, n));
        i += n;
    }
    ASSERT_TRUE(series.finish());
    EXPECT_EQ(series.packets(), 500U);
    EXPECT_FALSE(std::filesystem::exists(path));
    std::uint64_t i = 0;
    std::uint64_t bytes = 0;
    for (std::uint64_t file = 0; file < series.files(); file++) {
        const std::string name = PcapSeries::numbered(path, file);
        const std::uint64_t size = std::filesystem::file_size(name);
        bytes += size;
        EXPECT_LE(size, 10'000U);
        if (file + 1 != series.files()) {
            EXPECT_GT(size, 10'000U - 1476) << "it ended too early";
        }
        for (const Kept& k : read_all(name)) {
            ASSERT_EQ(k, record(i, length(i)));
            i++;
        }
    }
    EXPECT_EQ(i, 500U);
    EXPECT_EQ(bytes, series.bytes());
    EXPECT_FALSE(std::filesystem::exists(PcapSeries::numbered(path, series.files())));
}

TEST_F(Series, ARecordAboveTheSizeHasAFileOfItsOwn) {
    options.rotate_size = 100;
    const std::string path = scratch.file("a.pcap");
    PcapSeries series(path, options, "test");
    std::vector<std::byte> block;
    for (std::uint64_t i = 0; i < 3; i++)
        append(block, record(i, 1000));
    ASSERT_TRUE(series.write(block, 3));
    ASSERT_TRUE(series.finish());
    EXPECT_EQ(series.files(), 3U);
    for (std::uint64_t i = 0; i < 3; i++)
        EXPECT_EQ(read_all(PcapSeries::numbered(path, i)).size(), 1U);
}

TEST_F(Series, RotatesByThePacketsTime) {
    options.rotate_seconds = 0.5;
    const std::string path = scratch.file("a.pcap");
    PcapSeries series(path, options, "test");
    std::vector<std::byte> block;
    // 0, 0.2, 0.4 | 0.6, 0.8, 1.0 | 1.2 ...
    for (std::uint64_t i = 0; i < 10; i++)
        append(block, record(i, 100, 5'000'000'000 + i * 200'000'000));
    ASSERT_TRUE(series.write(block, 10));
    ASSERT_TRUE(series.finish());
    ASSERT_EQ(series.files(), 4U);
    EXPECT_EQ(read_all(PcapSeries::numbered(path, 0)).size(), 3U);
    EXPECT_EQ(read_all(PcapSeries::numbered(path, 2)).front().time_ns, 6'200'000'000U);
    EXPECT_EQ(read_all(PcapSeries::numbered(path, 3)).size(), 1U);
}

/// Tests a disk that becomes full at any place. The rest can be read, and is counted.
TEST_F(Series, AFullDiskLeavesWholeRecordsAndTheirCount) {
    std::mt19937 random(1);
    for (const bool direct : {false, true}) {
        options.direct_io = direct;
        for (int round = 0; round < 12; round++) {
            const auto most = 100 + random() % 3'000'000;
            const std::string path = scratch.file("a.pcap");
            std::optional<PcapSeries> series;
            try {
                series.emplace(path, options, "test");
            } catch (const Error& error) {
                ASSERT_TRUE(direct) << error.what();
                GTEST_SKIP() << error.what();
            }
            {
                const spead::test::FileSizeLimit limit(most);
                std::uint64_t i = 0;
                const std::uint64_t n = 1 + random() % 2000;
                while (give(*series, i, n))
                    i += n;
            }
            EXPECT_FALSE(series->finish());
            EXPECT_EQ(series->failure(), "File too large");
            PcapReader::Next end{};
            const std::vector<Kept> all = read_all(path, &end);
            EXPECT_EQ(end, PcapReader::Next::end);
            ASSERT_EQ(all.size(), series->packets());
            EXPECT_EQ(std::filesystem::file_size(path), series->bytes());
            const std::uint64_t slack = direct ? (2U << 20) : 1500;
            EXPECT_GE(series->bytes() + slack, most);
            for (std::uint64_t i = 0; i < all.size(); i++)
                ASSERT_EQ(all[i], record(i, length(i)));
        }
    }
}

TEST_F(Series, AFailedRotationKeepsWhatWasWritten) {
    options.rotate_size = 10'000;
    const std::string path = scratch.file("sub/a.pcap");
    std::filesystem::create_directory(scratch.path() / "sub");
    PcapSeries series(path, options, "test");
    ASSERT_TRUE(give(series, 0, 3));
    std::filesystem::rename(scratch.path() / "sub", scratch.path() / "away");
    EXPECT_FALSE(give(series, 3, 100));
    EXPECT_THAT(series.failure(), testing::HasSubstr("No such file or directory"));
    const auto all = read_all(scratch.file("away/a-00000.pcap"));
    EXPECT_EQ(all.size(), series.packets());
    EXPECT_GT(all.size(), 3U);
}

TEST_F(Series, ADiskThatIsFullAtOnceIsRefusedAndLeavesNothing) {
    const spead::test::FileSizeLimit limit(10);
    const std::string path = scratch.file("a.pcap");
    EXPECT_THROW(PcapSeries(path, options, "test"), Error);
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace spead::capture
