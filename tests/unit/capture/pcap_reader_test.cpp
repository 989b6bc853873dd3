// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcap_reader.hpp"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/capture/records.hpp"

/// Tests the reader. Refusals are tested with drivers/pcap_file, which reads through the same class.
namespace spead::capture {
namespace {

using Next = PcapReader::Next;
using spead::test::PcapFormat;
using spead::test::PcapWriter;

class Reader : public testing::Test {
  protected:
    spead::test::ScratchDirectory scratch;
    std::string path = scratch.file("in.pcap");
};

TEST_F(Reader, TimesAreNanosecondsWhateverTheFormat) {
    for (const bool nanoseconds : {false, true})
        for (const bool swapped : {false, true}) {
            PcapFormat format;
            format.magic = nanoseconds ? 0xA1B23C4D : 0xA1B2C3D4;
            format.swapped = swapped;
            {
                PcapWriter file(path, format);
                std::uint32_t words[4] = {1'700'000'000, 123'456, 5, 9};
                for (auto& w : words)
                    w = swapped ? __builtin_bswap32(w) : w;
                file.raw(words, sizeof words);
                file.raw("hello", 5);
            }
            PcapReader reader(path, "test");
            PcapReader::Record r;
            ASSERT_EQ(reader.next(r), Next::record);
            EXPECT_EQ(r.time_ns, 1'700'000'000'000'000'000U + (nanoseconds ? 123'456U : 123'456'000U));
            EXPECT_EQ(std::string(r.data, r.data + r.length), "hello");
            EXPECT_EQ(r.on_wire, 9U);
            EXPECT_TRUE(r.cut());
            EXPECT_EQ(r.at, kPcapHeader);
            EXPECT_EQ(reader.next(r), Next::end);
            EXPECT_EQ(reader.next(r), Next::end);
        }
}

TEST_F(Reader, ReadsAgainFromTheFirstRecord) {
    {
        PcapWriter file(path);
        for (int i = 0; i < 3000; i++)
            file.record(test::record(static_cast<std::uint64_t>(i), 1000).bytes);
    }
    PcapReader reader(path, "test");
    for (int pass = 0; pass < 2; pass++) {
        PcapReader::Record r;
        for (std::uint64_t i = 0; i < 3000; i++) {
            ASSERT_EQ(reader.next(r), Next::record);
            ASSERT_TRUE(std::equal(r.data, r.data + r.length, test::record(i, 1000).bytes.begin()));
        }
        EXPECT_EQ(reader.next(r), Next::end);
        EXPECT_EQ(reader.records(), 3000U);
        reader.rewind();
    }
}

TEST_F(Reader, TheLastByteOfAWindowIsNoBorder) {
    // Records of the greatest length there is straddle every window.
    {
        PcapWriter file(path);
        for (std::uint64_t i = 0; i < 20; i++)
            file.record(test::record(i, kPcapMaxRecord - i).bytes);
    }
    const auto all = test::read_all(path);
    ASSERT_EQ(all.size(), 20U);
    for (std::uint64_t i = 0; i < 20; i++)
        ASSERT_TRUE(all[i].bytes == test::record(i, kPcapMaxRecord - i).bytes) << i;
}

/// Tests any bytes behind a right header. The reader never goes past the end of the file.
TEST_F(Reader, HostileLengthsEndTheFileAndNothingElse) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; round++) {
        std::uint64_t whole = 0;
        {
            PcapWriter file(path);
            for (std::uint64_t i = 0; i < random() % 5; i++, whole++)
                file.record(test::record(i, random() % 300).bytes);
            const std::uint32_t lengths[] = {0xFFFFFFFF, 0xFFFFFFF0, 0x80000000, kPcapMaxRecord + 1,
                                             kPcapMaxRecord};
            file.header(lengths[random() % 5], static_cast<std::uint32_t>(random()));
            std::vector<std::uint8_t> rest(random() % 200);
            file.raw(rest.data(), rest.size());
        }
        Next end{};
        EXPECT_EQ(test::read_all(path, &end).size(), whole);
        EXPECT_TRUE(end == Next::damaged || end == Next::truncated);
    }
}

TEST_F(Reader, AFileThatShrinksWhileItIsReadIsAnErrorWithItsPlace) {
    {
        PcapWriter file(path);
        for (int i = 0; i < 3000; i++)
            file.record(test::record(0, 1000).bytes);
    }
    PcapReader reader(path, "test");
    PcapReader::Record r;
    ASSERT_EQ(reader.next(r), Next::record);
    std::filesystem::resize_file(path, 5000);
    EXPECT_THROW(
        {
            while (reader.next(r) == Next::record) {
            }
        },
        Error);
}

}  // namespace
}  // namespace spead::capture
