// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pcap_file.hpp"

#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/refusal.hpp"

namespace spead::drivers {
namespace {

using spead::test::PcapFormat;
using spead::test::PcapWriter;
using spead::test::write_file;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

std::vector<std::uint8_t> bytes(std::size_t n) {
    return std::vector<std::uint8_t>(n, 0x5A);
}

class PcapFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "spead-pcap-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
        path_ = (directory_ / "in.pcap").string();
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    PcapSummary summary() const { return read_pcap_summary(path_, "port p0"); }
    std::string refusal() const {
        return spead::test::refusal([&] { summary(); });
    }
    void write_three(const PcapFormat& format = {}) const {
        PcapWriter file(path_, format);
        file.record(bytes(60));
        file.record(bytes(1514));
        file.record(bytes(100));
    }

    std::filesystem::path directory_;
    std::string path_;
};

TEST_F(PcapFile, CountsRecordsBytesAndTheLargest) {
    write_three();
    const auto s = summary();
    EXPECT_EQ(s.packets, 3U);
    EXPECT_EQ(s.bytes, 60U + 1514 + 100);
    EXPECT_EQ(s.largest_packet, 1514U);
    EXPECT_EQ(s.largest_at, 2U);
    EXPECT_FALSE(s.truncated);
    EXPECT_FALSE(s.nanoseconds);
    EXPECT_FALSE(s.swapped);
    EXPECT_EQ(s.cut_packets, 0U);
}

TEST_F(PcapFile, ReadsNanosecondsAndBothByteOrders) {
    for (const bool nanoseconds : {false, true}) {
        for (const bool swapped : {false, true}) {
            PcapFormat format;
            format.magic = nanoseconds ? 0xA1B23C4D : 0xA1B2C3D4;
            format.swapped = swapped;
            write_three(format);
            const auto s = summary();
            EXPECT_EQ(s.packets, 3U);
            EXPECT_EQ(s.nanoseconds, nanoseconds);
            EXPECT_EQ(s.swapped, swapped);
        }
    }
}

TEST_F(PcapFile, AFileOfNothingButItsHeaderHasNoPackets) {
    { const PcapWriter file(path_); }
    EXPECT_EQ(summary().packets, 0U);
    EXPECT_FALSE(summary().truncated);
}

TEST_F(PcapFile, EveryCutInsideTheLastRecordIsSeenAndTheRecordsBeforeItCount) {
    write_three();
    const auto whole = std::filesystem::file_size(path_);
    const auto last = whole - 116;
    for (auto size = whole - 1; size > last; --size) {
        std::filesystem::resize_file(path_, size);
        const auto s = summary();
        ASSERT_TRUE(s.truncated) << size;
        ASSERT_EQ(s.packets, 2U) << size;
        ASSERT_EQ(s.truncated_at, last) << size;
        ASSERT_FALSE(s.damaged);
    }
    std::filesystem::resize_file(path_, last);
    EXPECT_FALSE(summary().truncated);
    EXPECT_EQ(summary().packets, 2U);
}

TEST_F(PcapFile, ARecordOfImpossibleLengthIsDamageAndEndsTheReplay) {
    {
        PcapWriter file(path_);
        file.record(bytes(60));
        file.header(kPcapMaxRecord + 1, kPcapMaxRecord + 1);
        const auto rest = bytes(kPcapMaxRecord + 1);
        file.raw(rest.data(), rest.size());
    }
    const auto s = summary();
    EXPECT_TRUE(s.truncated);
    EXPECT_TRUE(s.damaged);
    EXPECT_EQ(s.packets, 1U);
    EXPECT_EQ(s.truncated_at, kPcapHeader + kPcapRecordHeader + 60);
}

TEST_F(PcapFile, RecordsCutByTheSnapLengthAreCounted) {
    {
        PcapWriter file(path_);
        file.record(bytes(60));
        file.record(bytes(96), 1514);
        file.record(bytes(96), 9000);
    }
    const auto s = summary();
    EXPECT_EQ(s.cut_packets, 2U);
    EXPECT_EQ(s.first_cut, 2U);
    EXPECT_EQ(s.packets, 3U);
}

TEST_F(PcapFile, RecordsAboveTheFilesOwnSnapLengthCountAsCutAsLibpcapCutsThem) {
    PcapFormat format;
    format.snap_length = 100;
    write_three(format);
    const auto s = summary();
    EXPECT_EQ(s.cut_packets, 1U);
    EXPECT_EQ(s.largest_packet, 100U);
    EXPECT_EQ(s.bytes, 260U);
}

TEST_F(PcapFile, ReadsFilesLargerThanItsWindow) {
    constexpr std::uint64_t records = 3000;
    {
        PcapWriter file(path_);
        const auto record = bytes(1499);
        for (std::uint64_t i = 0; i < records; ++i) {
            file.record(record);
        }
    }
    ASSERT_GT(std::filesystem::file_size(path_), std::uint64_t{4} << 20);
    const auto s = summary();
    EXPECT_EQ(s.packets, records);
    EXPECT_EQ(s.bytes, records * 1499);
    EXPECT_FALSE(s.truncated);
}

TEST_F(PcapFile, OtherLinkTypesAreRefusedByName) {
    PcapFormat format;
    format.link_type = 113;
    write_three(format);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("port p0: "), HasSubstr("link type is 113 (Linux cooked v1"),
                                 HasSubstr("tcpdump -i any")));
    format.link_type = 276;
    write_three(format);
    EXPECT_THAT(refusal(), HasSubstr("276 (Linux cooked v2"));
    format.link_type = 101;
    write_three(format);
    EXPECT_THAT(refusal(), HasSubstr("101 (raw IP)"));
    format.link_type = 127;
    write_three(format);
    EXPECT_THAT(refusal(), HasSubstr("127 (IEEE 802.11 with radiotap)"));
    format.link_type = 9999;
    write_three(format);
    EXPECT_THAT(refusal(), HasSubstr("9999"));
}

TEST_F(PcapFile, EthernetWithACheckSequenceLengthInTheLinkTypeIsEthernet) {
    PcapFormat format;
    format.link_type = 0x24000001;
    write_three(format);
    EXPECT_EQ(summary().packets, 3U);
}

TEST_F(PcapFile, PcapngIsRefusedWithTheCommandsThatConvertIt) {
    std::vector<std::uint8_t> file = bytes(64);
    file[0] = 0x0A;
    file[1] = file[2] = 0x0D;
    file[3] = 0x0A;
    write_file(path_, file);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("is a pcapng file"), HasSubstr("editcap -F pcap " + path_),
                                 HasSubstr("tshark -F pcap -r " + path_)));
}

TEST_F(PcapFile, CompressedFilesAreRefusedWithTheCommandThatDecompressesThem) {
    auto file = bytes(64);
    file[0] = 0x1F;
    file[1] = 0x8B;
    write_file(path_, file);
    EXPECT_THAT(refusal(), EndsWith("is compressed; decompress it first with `gzip -dk " + path_ + "`"));
}

TEST_F(PcapFile, WhatIsNoPcapFileIsRefusedWithItsFirstBytes) {
    write_file(path_, bytes(64));
    EXPECT_THAT(refusal(), EndsWith("is not a pcap file: it starts with 5a 5a 5a 5a"));
    write_file(path_, bytes(10));
    EXPECT_THAT(refusal(), EndsWith("has 10 bytes, and a pcap file starts with a header of 24"));
    write_file(path_, {});
    EXPECT_THAT(refusal(), EndsWith("is empty"));
}

TEST_F(PcapFile, OtherVersionsAreRefused) {
    PcapFormat format;
    format.minor = 3;
    write_three(format);
    EXPECT_THAT(refusal(), HasSubstr("version 2.3; convert it to 2.4"));
}

TEST_F(PcapFile, MissingFilesDirectoriesAndPipesAreRefused) {
    EXPECT_EQ(refusal(), "port p0: cannot open the capture file " + path_ + ": No such file or directory");
    path_ = directory_.string();
    EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
    path_ = (directory_ / "pipe").string();
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_THAT(refusal(), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace spead::drivers
