// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tap.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "capture/capture.hpp"
#include "tests/eal/recv/rig.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"

/// Captures of streams on an RX lcore's agent, with real mbufs.
namespace spead::recv::test {
namespace {

using capture::Capture;
using spead::test::read_pcap;

struct Armed : OneStream {
    explicit Armed(bool only) {
        options.files = {scratch.file("a.pcap")};
        options.buffer = 8U << 20;
        options.only = only;
        add_to_picture = [this](stats::Snapshot& s) { s.captures = captures(); };
    }
    ~Armed() {
        // The rig looks once more when this is gone.
        add_to_picture = [last = captures()](stats::Snapshot& s) { s.captures = last; };
    }
    /// Arms a capture, for the test to end.
    Capture& start() {
        capture = std::make_unique<Capture>("s0", options, 1, rte_get_tsc_hz());
        lane().tap = &capture->tap(0);
        return *capture;
    }
    std::vector<stats::CaptureSnapshot> captures() const {
        if (!capture)
            return {};
        std::vector<stats::CaptureSnapshot> all{capture->snapshot()};
        add(all[0], capture->tap(0).counters());
        return all;
    }
    stats::CaptureSnapshot stop() {
        lane().tap = nullptr;
        capture->finish();
        check();
        return captures().at(0);
    }
    std::vector<Bytes> kept() const { return read_pcap(options.files[0]); }

    spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
    capture::Options options;
    std::unique_ptr<Capture> capture;
};

std::vector<Bytes> frames_of(std::uint64_t first, std::uint64_t heaps, const Way& way = {}) {
    std::vector<Bytes> all;
    for (std::uint64_t cnt = first; cnt < first + heaps; cnt++)
        for (Bytes& frame : MadeHeap{.cnt = cnt, .length = 10'000, .packet = 1400}.frames(way))
            all.push_back(std::move(frame));
    return all;
}

TEST(Tap, ARunningStreamIsCapturedBesidesAndReceivesAsBefore) {
    Armed rig(false);
    const auto before = frames_of(1, 3);
    const auto during = frames_of(4, 5);
    const auto after = frames_of(9, 2);
    rig.give(before);
    rig.start();
    rig.give(during);
    const stats::CaptureSnapshot s = rig.stop();
    rig.give(after);
    EXPECT_EQ(rig.take().size(), 10U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), before.size() + during.size() + after.size());
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(s.taken, during.size());
    EXPECT_EQ(s.written, during.size());
    EXPECT_EQ(rig.kept(), during);
}

/// Captures a packet as evidence, even when the stream refuses it.
TEST(Tap, RefusedPacketsOfTheStreamAreCapturedToo) {
    Armed rig(false);
    const auto good = frames_of(1, 1);
    std::vector<Bytes> all = good;
    all.push_back(frame({1, 2, 3}));          // no SPEAD packet
    all.push_back(good.front());              // a duplicate
    all.push_back(frame(Bytes(9300, 0x53)));  // above max_packet_size
    rig.start();
    rig.give(all);
    rig.give(frame({1, 2, 3}, {.port = 1}));  // nobody's
    rig.stop();
    EXPECT_EQ(rig.count(PacketOutcome::malformed), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::duplicate), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::oversize), 1U);
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 1U);
    EXPECT_EQ(rig.kept(), all);
}

TEST(Tap, FramesAreKeptAsTheyCameWithTagsPaddingAndSegments) {
    Armed rig(true);
    std::vector<Bytes> all{frame(Bytes(300, 1), {.tags = {0x8100}}),
                           frame(Bytes(300, 2), {.tags = {0x88A8, 0x8100}}),
                           frame(Bytes(3, 3), {.padding = 15}), frame(Bytes(800, 4), {.ihl = 8})};
    rig.start();
    for (const Bytes& f : all)
        rig.give(f);
    const Bytes chained = frame(Bytes(4000, 5));
    rig.queue().add(rig.queue().chain(chained, {30, 1, 2000}));
    rig.poll_all();
    all.push_back(chained);
    rig.stop();
    EXPECT_EQ(rig.kept(), all);
    EXPECT_EQ(rig.count(PacketOutcome::captured), all.size());
}

TEST(Tap, PacketsOfAnExclusiveCaptureEndThere) {
    Armed rig(true);
    rig.options.count = 20;
    rig.start();
    const auto all = frames_of(1, 5);
    rig.give(all);
    EXPECT_TRUE(rig.capture->over());
    const stats::CaptureSnapshot s = rig.stop();
    EXPECT_EQ(s.taken, 20U);
    EXPECT_EQ(rig.count(PacketOutcome::captured), 20U);
    EXPECT_EQ(rig.count(PacketOutcome::stopped), all.size() - 20);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 0U);
    EXPECT_EQ(rig.kept(), std::vector(all.begin(), all.begin() + 20));
    EXPECT_TRUE(rig.take().empty());
}

/// Arms the capture late: the packets' shape, learned before, must not lead around it.
TEST(Tap, AnExclusiveCaptureTakesOverAStreamThatRuns) {
    Armed rig(true);
    rig.give(frames_of(1, 3));
    rig.start();
    const auto during = frames_of(4, 3);
    rig.give(during);
    rig.stop();
    rig.give(frames_of(7, 1));
    EXPECT_EQ(rig.count(PacketOutcome::captured), during.size());
    EXPECT_EQ(rig.kept(), during);
    EXPECT_EQ(rig.take().size(), 4U);
}

TEST(Tap, ABufferWithoutRoomIsAnOutcome) {
    Armed rig(true);
    rig.options.buffer = Capture::least_buffer(1, 1);
    rig.start();
    std::uint64_t given = 0;
    // The agent is faster than the writer's naps.
    while (rig.count(PacketOutcome::capture_full) == 0 && given < 2'000'000) {
        const auto some = frames_of(given + 1, 30);
        for (const Bytes& f : some)
            rig.queue().add(f);
        rig.poll_all();
        given += some.size();
    }
    const stats::CaptureSnapshot s = rig.stop();
    EXPECT_GT(s.dropped_full, 0U);
    EXPECT_EQ(s.taken + s.dropped_full, given);
    EXPECT_EQ(rig.kept().size(), s.taken);
}

TEST(Tap, HousekeepingPassesFewPacketsOn) {
    Armed rig(false);
    Capture& c = rig.start();
    rig.give(frames_of(1, 1));
    rig.now += rte_get_tsc_hz();
    rig.agent.housekeep(rig.now);
    while (c.snapshot().written == 0)
        std::this_thread::yield();
    rig.stop();
}

}  // namespace
}  // namespace spead::recv::test
