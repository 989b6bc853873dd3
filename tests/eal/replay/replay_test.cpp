// SPDX-License-Identifier: BSD-3-Clause
#include "replay/replay.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "tests/eal/port/port_rig.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/capture/records.hpp"

/// Captures through real ports; this thread is the lcore.
namespace spead::replay {
namespace {

using capture::test::Kept;
using capture::test::record;
using port::test::open_port;
using port::test::request;

class Replays : public testing::Test {
  protected:
    /// Writes a capture of frames 0 .. n-1, a microsecond apart.
    std::string write(std::uint64_t n, std::size_t length = 1000) {
        std::vector<std::byte> bytes;
        const auto head = capture::pcap_file_header(65535);
        bytes.insert(bytes.end(), head.begin(), head.end());
        for (std::uint64_t i = 0; i < n; i++)
            capture::test::append(bytes, record(i, length));
        const std::string path = scratch.file("in.pcap");
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return path;
    }
    /// Sends it all through a ring and returns what came out.
    std::vector<std::vector<std::uint8_t>> through_ring() {
        auto port = open_port(request("net_ring0"));
        std::vector<std::vector<std::uint8_t>> all;
        {
            Replay replay(options, port->capabilities().max_tx_frame);
            replay.prepare(*port, port->tx_queue(0), static_cast<double>(rte_get_tsc_hz()));
            port->start();
            replay.start();
            const auto drain = [&] {
                rte_mbuf* m[32];
                while (const std::uint16_t n = port->rx_queue(0).rx_burst(m, 32))
                    for (std::uint16_t i = 0; i < n; i++) {
                        const auto* const at = rte_pktmbuf_mtod(m[i], const std::uint8_t*);
                        all.emplace_back(at, at + m[i]->data_len);
                        rte_pktmbuf_free(m[i]);
                    }
            };
            while (!replay.finished()) {
                if (!replay.player().poll(rte_rdtsc()))
                    std::this_thread::yield();
                drain();
            }
            drain();
            replay.stop();
            snapshot = replay.snapshot();
            add(snapshot, replay.player().counters());
            warnings = replay.warnings();
            failure = replay.failure();
            port->stop();
            replay.leave_port();
            port->close();
        }
        return all;
    }
    void expect_frames(const std::vector<std::vector<std::uint8_t>>& all, std::uint64_t n,
                       std::uint64_t passes, std::size_t length = 1000) const {
        ASSERT_EQ(all.size(), n * passes);
        for (std::uint64_t i = 0; i < all.size(); i++)
            ASSERT_EQ(all[i], record(i % n, length).bytes) << i;
        EXPECT_EQ(snapshot.passes, passes);
        EXPECT_EQ(snapshot.packets, n * passes);
        EXPECT_EQ(snapshot.frames, n);
        EXPECT_EQ(failure, "");
    }

    spead::test::ScratchDirectory scratch;
    Options options;
    stats::ReplaySnapshot snapshot;
    std::vector<std::string> warnings;
    std::string failure;
};

TEST_F(Replays, WhatFitsIsSentFromMemoryPassAfterPass) {
    options.files = {write(3000)};
    options.timing = Timing::greedy;
    options.passes = 5;
    expect_frames(through_ring(), 3000, 5);
    EXPECT_TRUE(snapshot.resident);
    EXPECT_EQ(snapshot.zero_copy, snapshot.packets);
}

/// Replays twenty times the memory: every frame, in order, each pass anew.
TEST_F(Replays, WhatDoesNotFitGoesThroughWindows) {
    options.files = {write(20'000)};
    options.timing = Timing::greedy;
    options.passes = 2;
    options.memory = 1U << 20;
    expect_frames(through_ring(), 20'000, 2);
    EXPECT_FALSE(snapshot.resident);
}

TEST_F(Replays, TheOriginalPaceTakesItsTime) {
    options.files = {write(10'000, 100)};
    options.passes = 3;
    const auto before = std::chrono::steady_clock::now();
    expect_frames(through_ring(), 10'000, 3, 100);
    // 3 x 10 ms.
    EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::microseconds(29'990));
}

TEST_F(Replays, ADamagedFileIsSentUpToItsDamageAndSaysWhere) {
    options.files = {write(100)};
    options.timing = Timing::greedy;
    std::filesystem::resize_file(options.files[0], std::filesystem::file_size(options.files[0]) - 10);
    expect_frames(through_ring(), 99, 1);
    EXPECT_THAT(warnings, testing::ElementsAre(testing::HasSubstr("truncated in record 100")));
}

TEST_F(Replays, AFileThatVanishesInsideIsAFailure) {
    options.files = {write(20'000)};
    options.timing = Timing::greedy;
    options.memory = 1U << 20;
    options.passes = -1;
    auto port = open_port(request("net_null0", 0, 1));
    Replay replay(options, port->capabilities().max_tx_frame);
    replay.prepare(*port, port->tx_queue(0), static_cast<double>(rte_get_tsc_hz()));
    port->start();
    replay.start();
    while (replay.player().counters().packets < 30'000)
        replay.player().poll(rte_rdtsc());
    std::filesystem::resize_file(options.files[0], 1000);
    while (!replay.finished())
        replay.player().poll(rte_rdtsc());
    replay.stop();
    EXPECT_THAT(replay.failure(), testing::HasSubstr("it became shorter"));
    port->stop();
    replay.leave_port();
    port->close();
}

TEST_F(Replays, StoppingInTheMiddleGivesEverythingBack) {
    options.files = {write(20'000)};
    options.timing = Timing::greedy;
    options.passes = -1;
    for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
        options.memory = memory;
        auto port = open_port(request("net_null0", 0, 1));
        Replay replay(options, port->capabilities().max_tx_frame);
        replay.prepare(*port, port->tx_queue(0), static_cast<double>(rte_get_tsc_hz()));
        port->start();
        replay.start();
        while (replay.player().counters().packets < 50'000)
            replay.player().poll(rte_rdtsc());
        replay.stop();
        replay.player().poll(rte_rdtsc());
        EXPECT_TRUE(replay.finished());
        port->stop();
        EXPECT_EQ(replay.player().mbufs_out(), 0U);
        replay.leave_port();
        port->close();
    }
}

/// Stops the thread between its first read and the end of the file.
TEST_F(Replays, StoppedWhileTheFilesAreReadIsNoFailure) {
    options.files = {write(20'000)};
    auto port = open_port(request("net_null0", 0, 1));
    for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
        options.memory = memory;
        Replay replay(options, port->capabilities().max_tx_frame);
        replay.prepare(*port, port->tx_queue(0), static_cast<double>(rte_get_tsc_hz()));
        replay.stop();
        replay.start();
        replay.stop();
        EXPECT_EQ(replay.failure(), "");
        EXPECT_EQ(replay.player().counters().packets, 0U);
        replay.leave_port();
    }
    port->close();
}

}  // namespace
}  // namespace spead::replay
