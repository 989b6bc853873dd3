// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include "base/error.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/capture/records.hpp"

/// Tests a whole capture. Its packets are mbufs in name only; tests/eal/capture has real ones.
namespace spead::capture {
namespace {

using test::Kept;
using test::read_all;
using testing::HasSubstr;

constexpr std::uint64_t kHz = 1'000'000'000;

/// Makes packet `i`, and an mbuf that refers to its bytes.
struct Packet {
    explicit Packet(std::uint64_t i, std::size_t length = 100) : bytes(test::record(i, length).bytes) {
        std::memset(static_cast<void*>(&mbuf), 0, sizeof mbuf);
        mbuf.buf_addr = bytes.data();
        mbuf.data_len = static_cast<std::uint16_t>(length);
        mbuf.pkt_len = static_cast<std::uint32_t>(length);
        mbuf.nb_segs = 1;
    }
    std::vector<std::uint8_t> bytes;
    rte_mbuf mbuf;
};

class Captures : public testing::Test {
  protected:
    Captures() {
        options.files = {scratch.file("a.pcap")};
        options.buffer = 4U << 20;
    }
    stats::CaptureSnapshot picture(Capture& c) const {
        stats::CaptureSnapshot s = c.snapshot();
        for (std::size_t i = 0; i < c.taps(); i++)
            add(s, c.tap(i).counters());
        EXPECT_GE(s.taken, s.written + s.unwritten);
        stats::Snapshot all;
        all.captures.push_back(s);
        EXPECT_THAT(stats::broken_identities(all), testing::IsEmpty());
        return s;
    }
    /// Offers until it is taken: the test's lcore may wait.
    static void must_take(Tap& tap, const Packet& p, std::uint64_t now) {
        while (tap.offer(p.mbuf, now) == Tap::Offer::full)
            std::this_thread::yield();
    }

    spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
    Options options;
};

/// Tests a second capture into the names of one that had more files.
TEST_F(Captures, FilesOfAnEarlierSeriesAreNamedBeforeItIsOverwritten) {
    const auto messages_of_one = [this](std::uint64_t packets) {
        testing::internal::CaptureStderr();
        Capture c("s0", options, 1, kHz);
        for (std::uint64_t i = 0; i < packets; i++)
            must_take(c.tap(0), Packet(i, 1000), i);
        c.finish();
        return testing::internal::GetCapturedStderr();
    };
    options.rotate_size = 2'000;
    EXPECT_EQ(messages_of_one(3), "");
    EXPECT_THAT(messages_of_one(2),
                AllOf(HasSubstr("capture of s0: 2 files of an earlier capture are there, the last "),
                      HasSubstr("a-00002.pcap"), HasSubstr("remove them")));
    EXPECT_TRUE(std::filesystem::exists(scratch.file("a-00002.pcap"))) << "they are the user's";
    std::filesystem::remove(scratch.file("a-00002.pcap"));
    EXPECT_THAT(messages_of_one(1), HasSubstr("1 file of an earlier capture is there, the last "));
    std::filesystem::remove(scratch.file("a-00001.pcap"));
    EXPECT_EQ(messages_of_one(1), "") << "the only one is overwritten, as without numbers";
    for (const char* const other :
         {"a-1.pcap", "a-00001.pcapng", "ab-00001.pcap", "a-0000x.pcap", "a-00001.pcap.gz"})
        std::ofstream(scratch.file(other)) << "x";
    EXPECT_EQ(messages_of_one(1), "");
    std::ofstream(scratch.file("a-123456.pcap")) << "x";
    EXPECT_THAT(messages_of_one(1), HasSubstr("a-123456.pcap"));
    options.rotate_size = 0;
    EXPECT_EQ(messages_of_one(1), "") << "it has no numbers";
}

TEST_F(Captures, WritesEveryPacketOnceInOrderWithItsTime) {
    const auto before = static_cast<std::uint64_t>(::time(nullptr)) * kHz;
    Capture c("s0", options, 1, kHz);
    constexpr std::uint64_t kPackets = 50'000;
    for (std::uint64_t i = 0; i < kPackets; i++)
        must_take(c.tap(0), Packet(i, 60 + i % 1000), i / 32);
    c.finish();
    const stats::CaptureSnapshot s = picture(c);
    EXPECT_EQ(s.taken, kPackets);
    EXPECT_EQ(s.written, kPackets);
    EXPECT_EQ(s.buffered(), 0U);
    const std::vector<Kept> all = read_all(options.files[0]);
    ASSERT_EQ(all.size(), kPackets);
    std::uint64_t last = before;
    for (std::uint64_t i = 0; i < kPackets; i++) {
        ASSERT_TRUE(all[i].bytes == test::record(i, 60 + i % 1000).bytes) << i;
        ASSERT_GT(all[i].time_ns, last) << "two packets at one time have no order";
        last = all[i].time_ns;
    }
    EXPECT_LT(last, static_cast<std::uint64_t>(::time(nullptr) + 2) * kHz);
}

/// Tests that end() returns at once. The thread that ends a capture has other work than to wait for a disk.
TEST_F(Captures, EndDoesNotWaitForTheWriters) {
    std::promise<void> disk;
    const std::shared_future<void> written = disk.get_future().share();
    Capture c("s0", options, 1, kHz, [written] { written.wait(); });
    must_take(c.tap(0), Packet(1, 60), 1);
    c.end();
    EXPECT_FALSE(c.ended());
    EXPECT_TRUE(picture(c).ending);
    EXPECT_FALSE(picture(c).finished);
    EXPECT_EQ(picture(c).buffered(), 1U);
    disk.set_value();
    while (!c.ended())
        std::this_thread::yield();
    c.finish();
    EXPECT_TRUE(picture(c).finished);
    EXPECT_EQ(picture(c).written, 1U);
    EXPECT_EQ(read_all(options.files[0]).size(), 1U);
}

TEST_F(Captures, DistributesBlocksOverFilesAndTheirTimesPutThemTogetherAgain) {
    options.files = {scratch.file("a.pcap"), scratch.file("b.pcap"), scratch.file("c.pcap")};
    Capture c("s0", options, 1, kHz);
    constexpr std::uint64_t kPackets = 40'000;
    for (std::uint64_t i = 0; i < kPackets; i++)
        must_take(c.tap(0), Packet(i, 500), 1);
    c.finish();
    std::vector<Kept> all;
    for (const std::string& file : options.files) {
        const auto some = read_all(file);
        EXPECT_GT(some.size(), kPackets / 10) << file << " was left out";
        EXPECT_TRUE(std::is_sorted(some.begin(), some.end(),
                                   [](const Kept& a, const Kept& b) { return a.time_ns < b.time_ns; }));
        all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.time_ns < b.time_ns; });
    ASSERT_EQ(all.size(), kPackets);
    for (std::uint64_t i = 0; i < kPackets; i++)
        ASSERT_TRUE(all[i].bytes == test::record(i, 500).bytes) << i;
    EXPECT_EQ(picture(c).files.size(), 3U);
}

TEST_F(Captures, KeepsTheFirstBytesAndTheLengthOnTheWire) {
    options.snap_length = 96;
    Capture c("s0", options, 1, kHz);
    must_take(c.tap(0), Packet(1, 1500), 1);
    must_take(c.tap(0), Packet(2, 60), 1);
    c.finish();
    const auto all = read_all(options.files[0]);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].bytes, test::record(1, 96).bytes);
    EXPECT_EQ(all[0].on_wire, 1500U);
    EXPECT_EQ(all[1].on_wire, 60U);
    EXPECT_EQ(picture(c).cut, 1U);
}

TEST_F(Captures, GathersPacketsOfSeveralSegments) {
    Packet first(1, 100);
    Packet second(2, 30);
    Packet third(3, 50);
    first.mbuf.pkt_len = 180;
    first.mbuf.next = &second.mbuf;
    second.mbuf.next = &third.mbuf;
    options.snap_length = 145;
    Capture c("s0", options, 1, kHz);
    must_take(c.tap(0), first, 1);
    c.finish();
    auto expected = first.bytes;
    expected.insert(expected.end(), second.bytes.begin(), second.bytes.end());
    expected.insert(expected.end(), third.bytes.begin(), third.bytes.begin() + 15);
    EXPECT_EQ(read_all(options.files[0]).at(0).bytes, expected);
}

TEST_F(Captures, TakesItsNumberOfPacketsFromAllLcoresTogether) {
    options.count = 1000;
    Capture c("s0", options, 2, kHz);
    std::vector<std::thread> lcores;
    for (std::size_t t = 0; t < 2; t++)
        lcores.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 800; i++)
                must_take(c.tap(t), Packet(i), i);
        });
    for (std::thread& t : lcores)
        t.join();
    EXPECT_TRUE(c.over());
    c.finish();
    const stats::CaptureSnapshot s = picture(c);
    EXPECT_EQ(s.taken, 1000U);
    EXPECT_EQ(s.ended, 600U);
    EXPECT_EQ(read_all(options.files[0]).size(), 1000U);
}

/// Tests that the lcore never waits. Packets that come faster than the writers can write are counted.
TEST_F(Captures, DropsByNameWhenTheBufferIsFull) {
    options.buffer = Capture::least_buffer(1, 1);
    Capture c("s0", options, 1, kHz);
    constexpr std::uint64_t kPackets = 20'000;
    const Packet p(5, 9000);
    std::uint64_t taken = 0;
    std::uint64_t full = 0;
    for (std::uint64_t i = 0; i < kPackets; i++) {
        const Tap::Offer offer = c.tap(0).offer(p.mbuf, i);
        ASSERT_NE(offer, Tap::Offer::over);
        ++(offer == Tap::Offer::taken ? taken : full);
    }
    c.finish();
    const stats::CaptureSnapshot s = picture(c);
    EXPECT_GT(full, 0U) << "256 KiB cannot hold 180 MB";
    EXPECT_EQ(s.taken, taken);
    EXPECT_EQ(s.dropped_full, full);
    EXPECT_EQ(read_all(options.files[0]).size(), taken);
}

TEST_F(Captures, AFullDiskEndsItAndEveryPacketIsWrittenOrUnwritten) {
    Capture c("s0", options, 1, kHz);
    const Packet p(5, 1000);
    {
        const spead::test::FileSizeLimit limit(1'000'000);
        while (!c.over())
            c.tap(0).offer(p.mbuf, 1);
        c.finish();
    }
    const stats::CaptureSnapshot s = picture(c);
    EXPECT_TRUE(s.finished);
    EXPECT_GT(s.unwritten, 0U);
    EXPECT_EQ(s.taken, s.written + s.unwritten);
    EXPECT_EQ(s.written, (1'000'000U - 24) / 1016);
    EXPECT_EQ(read_all(options.files[0]).size(), s.written);
    EXPECT_THAT(c.failure(), HasSubstr("a.pcap: File too large; the files keep 984 packets (976 KiB)"));
    EXPECT_EQ(c.tap(0).offer(p.mbuf, 1), Tap::Offer::over);
}

/// Looks at it before anyone stops it, as metrics do.
TEST_F(Captures, AFullDiskShowsWhileItIsNotStopped) {
    options.files = {scratch.file("a.pcap"), scratch.file("b.pcap")};
    Capture c("s0", options, 1, kHz);
    const Packet p(5, 1000);
    {
        const spead::test::FileSizeLimit limit(1'000'000);
        std::uint64_t now = 0;
        while (!c.over())
            c.tap(0).offer(p.mbuf, now++);
        // Both writers fail, and what is in the buffer is thrown away.
        for (c.tap(0).housekeep(now += kHz); picture(c).buffered() != 0; c.tap(0).housekeep(now += kHz))
            std::this_thread::yield();
        const stats::CaptureSnapshot s = picture(c);
        EXPECT_FALSE(s.finished);
        EXPECT_GT(s.unwritten, 0U);
        EXPECT_EQ(s.taken, s.written + s.unwritten);
        c.finish();
        EXPECT_EQ(picture(c).unwritten, s.unwritten) << "the end finds no more";
        EXPECT_EQ(picture(c).written, s.written);
    }
}

TEST_F(Captures, FewPacketsReachTheFileWhileItRuns) {
    Capture c("s0", options, 1, kHz);
    must_take(c.tap(0), Packet(1), 1);
    c.tap(0).housekeep(1 + kHz / 1000);
    EXPECT_EQ(c.snapshot().written, 0U) << "it is not passed on at once";
    c.tap(0).housekeep(1 + kHz);
    while (c.snapshot().written == 0)
        std::this_thread::yield();
    EXPECT_EQ(read_all(options.files[0]).size(), 1U);
}

TEST_F(Captures, WhatCannotBeIsRefused) {
    const auto refusal = [&](std::size_t taps) {
        try {
            const Capture c("s0", options, taps, kHz);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    options.buffer = 100'000;
    EXPECT_THAT(refusal(1),
                HasSubstr("capture of s0: a buffer of 97.7 KiB is too small for 1 lcore and 1 file"));
    options.buffer = 4U << 20;
    options.files = {scratch.file("none/a.pcap")};
    EXPECT_THAT(refusal(1), HasSubstr("No such file or directory"));
    options.files = {};
    EXPECT_THAT(refusal(1), HasSubstr("it has no file"));
}

}  // namespace
}  // namespace spead::capture
