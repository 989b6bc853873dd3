// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_writer.hpp"

#include <array>
#include <csignal>
#include <gmock/gmock.h>
#include <sstream>
#include <sys/wait.h>
#include <utility>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/unit/sink/dada_rig.hpp"

namespace spead::sink::test {
namespace {

using spead::test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using Result = DadaWriter::Result;

constexpr std::uint64_t kHeader = 512;
constexpr std::int64_t kBirth = 1'767'225'600;  // 2026-01-01

/// Holds the rings of a buffer.
struct Buffer {
    explicit Buffer(std::uint64_t blocks = 4, std::uint64_t bytes = 8, std::uint64_t header = kHeader,
                    unsigned readers = 1)
        : data(key, blocks, bytes, readers), headers(key + 1, 4, header, readers) {}

    DadaWriter::Options options(std::uint64_t record = 0, const std::string& header = "") const {
        DadaWriter::Options o;
        o.key = key;
        o.stream = "s0";
        o.record_bytes = record;
        o.header = DadaHeader(header, "template");
        o.patience = std::chrono::milliseconds(1);
        o.end_patience = std::chrono::milliseconds(1);
        return o;
    }

    std::uint32_t key = free_keys();
    Ring data;
    Ring headers;
};

/// Reads a buffer as a reader of both of its rings.
struct BufferReader {
    explicit BufferReader(Buffer& buffer, std::size_t index = 0)
        : data(buffer.data, index), headers(buffer.headers, index) {}

    /// Returns the value of a key in the next header.
    std::string header() { return text = headers.block(); }
    std::string value(const std::string& key) const {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string found;
            std::string value;
            if (words >> found >> value && found == key)
                return value;
        }
        return "none";
    }

    Reader data;
    Reader headers;
    std::string text{};
};

Result write(DadaWriter& writer, std::uint64_t offset, const std::string& text,
             std::optional<std::int64_t> chunk = {}) {
    const auto bytes = std::as_bytes(std::span(text));
    const std::size_t half = bytes.size() / 2;
    const std::array parts{bytes.first(half), bytes.subspan(half)};
    return writer.write({offset, chunk, std::chrono::system_clock::from_time_t(kBirth)}, parts);
}

TEST(DadaWriter, WritesRecordsOneAfterTheOtherBehindAHeader) {
    Buffer buffer;
    BufferReader reader(buffer);
    DadaWriter writer(buffer.options(8, "TELESCOPE X\n"));
    EXPECT_FALSE(writer.knows_start());
    EXPECT_FALSE(reader.headers.more()) << "no transfer before the first record";
    EXPECT_EQ(write(writer, 0, "01234567", 7), Result::written);
    EXPECT_EQ(write(writer, 8, "abcdefgh", 8), Result::written);
    EXPECT_EQ(reader.header().size(), kHeader);
    EXPECT_EQ(reader.value("TELESCOPE"), "X");
    EXPECT_EQ(reader.value("HDR_SIZE"), "512");
    EXPECT_EQ(reader.value("UTC_START"), "2026-01-01-00:00:00");
    EXPECT_EQ(reader.value("OBS_OFFSET"), "0");
    EXPECT_EQ(reader.value("RESOLUTION"), "8");
    EXPECT_EQ(reader.value("FILE_SIZE"), "1073741824");
    EXPECT_EQ(reader.value("SPEAD_STREAM"), "s0");
    EXPECT_EQ(reader.value("SPEAD_CHUNK"), "7");
    EXPECT_EQ(reader.data.all(), "01234567abcdefgh") << "each block is given as it is full";
    EXPECT_FALSE(reader.data.ended);
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(reader.data.all(), "");
    EXPECT_TRUE(reader.data.ended);
    EXPECT_FALSE(reader.headers.more());
}

TEST(DadaWriter, SplitsRecordsOverBlocks) {
    Buffer buffer(4, 10);
    BufferReader reader(buffer);
    {
        DadaWriter writer(buffer.options());
        EXPECT_EQ(write(writer, 0, "0123"), Result::written);
        EXPECT_EQ(write(writer, 4, "456789abcdefghijklm"), Result::written);
        EXPECT_EQ(reader.data.all(), "0123456789abcdefghij");
        EXPECT_EQ(write(writer, 23, ""), Result::written);
        EXPECT_EQ(write(writer, 23, std::string(31, 'x')), Result::too_large);
    }
    EXPECT_EQ(reader.data.all(), "klm") << "the end gives what the last block has";
    EXPECT_TRUE(reader.data.ended);
    reader.header();
    EXPECT_EQ(reader.value("RESOLUTION"), "none");
}

TEST(DadaWriter, BeginsATransferWhereRecordsAreMissing) {
    Buffer buffer(8);
    BufferReader reader(buffer);
    DadaWriter writer(buffer.options(8, "UTC_START 2020-02-03-04:05:06\nFILE_SIZE 16\nHDR_VERSION 2"));
    EXPECT_TRUE(writer.knows_start());
    write(writer, 800, "01234567", 100);
    write(writer, 816, "abcdefgh", 102);
    reader.header();
    EXPECT_EQ(reader.value("OBS_OFFSET"), "800");
    EXPECT_EQ(reader.value("UTC_START"), "2020-02-03-04:05:06");
    EXPECT_EQ(reader.value("FILE_SIZE"), "16");
    EXPECT_EQ(reader.value("HDR_VERSION"), "2");
    EXPECT_EQ(reader.data.all(), "01234567");
    EXPECT_TRUE(reader.data.ended);
    reader.header();
    EXPECT_EQ(reader.value("OBS_OFFSET"), "816");
    EXPECT_EQ(reader.value("SPEAD_CHUNK"), "102");
    EXPECT_EQ(reader.data.all(), "abcdefgh");
    EXPECT_FALSE(reader.data.ended);
}

TEST(DadaWriter, LosesWholeRecordsWhileAReaderStandsStillAndGoesOnAfterwards) {
    Buffer buffer(4, 8, kHeader, 2);
    BufferReader quick(buffer, 0);
    BufferReader slow(buffer, 1);
    DadaWriter writer(buffer.options());
    EXPECT_EQ(write(writer, 0, "01234567abcd"), Result::written);
    EXPECT_EQ(write(writer, 12, "efghABCDEFGHijkl"), Result::written);
    quick.header();
    EXPECT_EQ(quick.data.all(), "01234567abcdefghABCDEFGH");
    EXPECT_EQ(write(writer, 28, "nowhere!"), Result::no_room) << "its second half has none";
    EXPECT_EQ(write(writer, 36, "nowhere!"), Result::no_room);
    EXPECT_EQ(quick.data.all(), "ijkl") << "the transfer ends where the row does";
    EXPECT_TRUE(quick.data.ended);
    slow.header();
    EXPECT_EQ(slow.data.all(), "01234567abcdefghABCDEFGHijkl");
    EXPECT_EQ(write(writer, 44, "HERE____"), Result::written);
    for (BufferReader* const reader : {&quick, &slow}) {
        reader->header();
        EXPECT_EQ(reader->value("OBS_OFFSET"), "44");
        EXPECT_EQ(reader->data.all(), "HERE____");
    }
}

TEST(DadaWriter, AtTheEndItWaitsForRoomButNotForEver) {
    Buffer buffer(2);
    BufferReader reader(buffer);
    {
        DadaWriter writer(buffer.options());
        write(writer, 0, "01234567");
        write(writer, 8, "abcdefgh");
        EXPECT_FALSE(writer.finish());
        EXPECT_TRUE(writer.finish()) << "it has ended";
    }
    EXPECT_EQ(buffer.data.sync().state, dada::kWriting);
    EXPECT_EQ(reader.data.all(), "01234567abcdefgh");
    DadaWriter next(buffer.options());
    EXPECT_EQ(write(next, 0, "ABCDEFGH"), Result::written);
    EXPECT_EQ(reader.data.all(), "");
    EXPECT_TRUE(reader.data.ended) << "the next writer ends it";
    EXPECT_EQ(reader.data.all(), "ABCDEFGH");
}

TEST(DadaWriter, WaitsForTheLockOfItsOwnProcessOnly) {
    Buffer buffer;
    DadaWriter first(buffer.options());
    DadaWriter second(buffer.options());
    EXPECT_EQ(write(second, 0, "x"), Result::other_writer);
    first.finish();
    EXPECT_EQ(write(second, 0, "x"), Result::written);
    second.finish();
    const pid_t child = fork();
    if (child == 0) {
        sembuf take{dada::kWriter, -1, 0};
        _exit(semop(buffer.data.connect(), &take, 1) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
    EXPECT_THAT(error_of([&] { DadaWriter third(buffer.options()); }),
                AllOf(HasSubstr("another process writes to it"), HasSubstr("another ring")));
    change(buffer.headers.connect(), dada::kWriter, -1);
    change(buffer.headers.connect(), dada::kWriter, 1);
}

TEST(DadaWriter, LeavesTheRingToTheNextWhenItsProcessIsKilled) {
    Buffer buffer(8);
    BufferReader reader(buffer);
    const pid_t child = fork();
    if (child == 0) {
        DadaWriter writer(buffer.options());
        write(writer, 0, "01234567abc");
        raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    DadaWriter next(buffer.options());
    EXPECT_EQ(write(next, 0, "ABCDEFGH"), Result::written);
    reader.header();
    EXPECT_EQ(reader.data.all(), "01234567");
    EXPECT_TRUE(reader.data.ended);
    reader.header();
    EXPECT_EQ(reader.data.all(), "ABCDEFGH");
}

TEST(DadaWriter, RefusesRingsThatAreTooSmall) {
    Buffer buffer(4, 8, 300);
    EXPECT_THAT(
        error_of([&] { DadaWriter writer(buffer.options(25)); }),
        AllOf(HasSubstr("a chunk has 25 bytes"), HasSubstr("there is room for 24"), HasSubstr("-b, -n")));
    EXPECT_NO_THROW(DadaWriter(buffer.options(24)));
    EXPECT_THAT(error_of([&] { DadaWriter writer(buffer.options(8, std::string(200, '#'))); }),
                AllOf(HasSubstr("its blocks 300"), HasSubstr("dada_db -a")));
}

TEST(DadaWriter, RefusesHeadersThatLeaveNoRoomForTheirEnd) {
    // The largest header, with its zero.
    std::size_t bytes = 0;
    {
        Buffer buffer(4, 8, 8);
        const std::string error = error_of([&] { DadaWriter writer(buffer.options(8)); });
        bytes = std::stoul(error.substr(error.find("up to ") + 6));
    }
    // HDR_SIZE has two digits more.
    bytes += 2;
    Buffer full(4, 8, bytes - 1);
    EXPECT_THAT(error_of([&] { DadaWriter writer(full.options(8)); }),
                HasSubstr(fmt::format("up to {} bytes with the zero at its end", bytes)));
    Buffer enough(4, 8, bytes);
    EXPECT_NO_THROW(DadaWriter(enough.options(8)));
}

TEST(DadaWriter, RefusesHeadersOfOthers) {
    Buffer buffer;
    buffer.headers.give_to_group(65534);
    EXPECT_THAT(error_of([&] { DadaWriter writer(buffer.options()); }),
                HasSubstr("the ring of headers belongs to user"));
    buffer.data.give_to_group(65534);
    EXPECT_NO_THROW(DadaWriter(buffer.options()));
}

}  // namespace
}  // namespace spead::sink::test
