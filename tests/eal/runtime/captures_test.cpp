// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <gmock/gmock.h>
#include <optional>

#include "base/error.hpp"
#include "tests/eal/runtime/live_rig.hpp"
#include "tests/support/file_size_limit.hpp"
#include "tests/support/pcap_writer.hpp"
#include "tests/support/scratch_directory.hpp"

/// Captures in whole runs.
namespace spead::runtime::test {
namespace {

using spead::test::read_pcap;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Reason = Engine::Reason;

class Captures : public testing::Test {
  protected:
    capture::Options options(const std::string& name = "a.pcap") const {
        capture::Options o;
        o.files = {scratch.file(name)};
        return o;
    }
    spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
};

TEST_F(Captures, AStreamIsReceivedAndCapturedBesides) {
    Plan plan = loopback(300);
    plan.receives[0].capture = options();
    const Ended e = run(plan, layout_on_two_lcores(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.complete(), 300U);
    EXPECT_EQ(e.stream().heaps_verified, 300U);
    ASSERT_EQ(e.last.captures.size(), 1U);
    const stats::CaptureSnapshot& c = e.last.captures[0];
    EXPECT_TRUE(c.finished);
    EXPECT_GT(c.seconds, 0);
    EXPECT_EQ(c.taken + c.dropped_full, e.stream().received);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), c.written);
}

/// Makes a lossless source wait for the disk when its packets end in the capture.
TEST_F(Captures, ALosslessSourceWaitsForTheDiskOfAnExclusiveOne) {
    Plan plan = loopback(500);
    plan.receives[0].sink.kind = SinkKind::null;
    plan.receives[0].max_packet_size = 1472;
    plan.receives[0].capture = options();
    plan.receives[0].capture->only = true;
    plan.receives[0].capture->buffer = std::uint64_t{1} << 20;
    const Ended e = run(plan, layout_on_two_lcores(plan));
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.packets(PacketOutcome::captured), e.sent().counters.packets);
    EXPECT_EQ(e.stream().received, e.sent().counters.packets);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), e.sent().counters.packets);
}

TEST_F(Captures, StartAndStopWhileTheStreamRuns) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 20e6;
    Engine engine(plan, layout_on_two_lcores(plan));
    engine.start();
    const Interrupt interrupt;
    int ticks = 0;
    std::uint64_t number = 0;
    std::optional<stats::CaptureSnapshot> first;
    engine.run(interrupt.fd(), [&](const stats::Snapshot& s) {
        expect_identities(s);
        if (number != 0 && !first) {
            first = engine.stopped_capture(number);
            if (first)
                interrupt.now();
        }
        switch (ticks++) {
            case 0:
                EXPECT_THROW(engine.stop_capture("s0"), Error);
                EXPECT_THROW(engine.start_capture("s1", options()), Error);
                EXPECT_THROW(engine.start_capture("s0", options("none/a.pcap")), Error);
                engine.start_capture("s0", options());
                EXPECT_THROW(engine.start_capture("s0", options("b.pcap")), Error);
                return;
            case 3:
                number = engine.stop_capture("s0");
                EXPECT_FALSE(engine.stopped_capture(number)) << "only run() looks at the disks";
                EXPECT_THAT(error_of([&] { engine.start_capture("s0", options()); }),
                            HasSubstr("a.pcap is in use: the capture of s0 writes it"));
                expect_identities(engine.snapshot());
                engine.start_capture("s0", options("b.pcap"));
                return;
            default:
                return;
        }
    });
    engine.stop();
    const stats::Snapshot last = engine.snapshot();
    expect_identities(last);
    EXPECT_THAT(engine.problems(), IsEmpty());
    EXPECT_EQ(last.streams[0].heaps_wrong, 0U);
    EXPECT_EQ(last.streams[0].received, last.sends[0].counters.packets);
    ASSERT_EQ(last.captures.size(), 2U);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->finished);
    EXPECT_GT(first->written, 0U);
    EXPECT_EQ(first->written, first->taken);
    EXPECT_EQ(last.captures[0].written, first->written);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), first->written);
    EXPECT_GT(last.captures[1].written, 0U);
    EXPECT_EQ(read_pcap(scratch.file("b.pcap")).size(), last.captures[1].written);
}

/// Changes the lcores' part of a stream whose planned capture was stopped: the file stays as it is.
TEST_F(Captures, OneThatIsOverStaysOverWhenItsStreamChanges) {
    Plan plan = live_plan(1);
    plan.receives[0].capture = options();
    std::uint64_t written = 0;
    std::size_t captures = 0;
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.captures.at(0).taken > 10; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_capture("s0"); });
    script.wait([](const stats::Snapshot& s) { return s.captures.at(0).finished; });
    script.change([](Plan& p) { p.receives[0].queue_depth = 100; });
    script.add([&](Engine&, const stats::Snapshot& s) {
        captures = s.captures.size();
        written = s.captures[0].written;
        EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), written);
    });
    script.change([](Plan& p) {
        p.receives[0].name = "other";
        p.receives[0].capture.reset();
    });
    script.change([this](Plan& p) {
        p.receives[0].name = "s0";
        p.receives[0].capture = options("b.pcap");
    });
    script.wait(
        [](const stats::Snapshot& s) { return s.captures.size() == 2 && s.captures.back().taken > 0; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(captures, 1U);
    EXPECT_GT(written, 0U);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), written);
    EXPECT_GT(read_pcap(scratch.file("b.pcap")).size(), 0U) << "another stream of that name";
}

TEST_F(Captures, OneOfADurationEndsByItself) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 20e6;
    plan.receives[0].capture = options();
    plan.receives[0].capture->duration = 0.3;
    Engine engine(plan, layout_on_two_lcores(plan));
    engine.start();
    const Interrupt interrupt;
    std::uint64_t received = 0;
    engine.run(interrupt.fd(), [&](const stats::Snapshot& s) {
        expect_identities(s);
        if (!s.captures.at(0).finished)
            return;
        if (received == 0)
            received = s.streams[0].received;
        // It is no more captured, and received as before.
        else if (s.streams[0].received > received)
            interrupt.now();
    });
    EXPECT_THROW(engine.stop_capture("s0"), Error);
    engine.stop();
    const stats::Snapshot last = engine.snapshot();
    EXPECT_THAT(engine.problems(), IsEmpty());
    EXPECT_GT(last.captures[0].written, 0U);
    EXPECT_LT(last.captures[0].taken, last.streams[0].received);
    EXPECT_GE(last.captures[0].seconds, 0.3);
    EXPECT_EQ(last.streams[0].heaps_wrong, 0U);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), last.captures[0].written);
}

TEST_F(Captures, WhatComesAfterTheTimeOfAnExclusiveOneMakesNoHeaps) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 20e6;
    plan.receives[0].sink.kind = SinkKind::null;
    plan.receives[0].capture = options();
    plan.receives[0].capture->only = true;
    plan.receives[0].capture->duration = 0.2;
    Engine engine(plan, layout_on_two_lcores(plan));
    engine.start();
    const Interrupt interrupt;
    engine.run(interrupt.fd(), [&](const stats::Snapshot& s) {
        expect_identities(s);
        if (s.streams[0].packets[static_cast<std::size_t>(PacketOutcome::stopped)] > 10)
            interrupt.now();
    });
    engine.stop();
    const stats::Snapshot last = engine.snapshot();
    EXPECT_TRUE(last.captures[0].over);
    EXPECT_GT(last.captures[0].written, 0U);
    EXPECT_EQ(last.streams[0].heaps_started, 0U);
    expect_identities(last);
}

TEST_F(Captures, AStoppedOneTellsOfTheFullDisk) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 50e6;
    plan.receives[0].capture = options();
    const spead::test::FileSizeLimit limit(100'000);
    std::vector<std::string> events;
    EngineHooks hooks;
    hooks.on_event = [&](const std::string& stream, const stats::LastEvent& event) {
        // A machine that is busy may keep the sender from sending.
        if (stream == "s0")
            events.push_back(fmt::format("{}: {}", name_of(event.kind), event.text));
    };
    Engine engine(plan, layout_on_two_lcores(plan), hooks);
    engine.start();
    const Interrupt interrupt;
    std::uint64_t number = 0;
    std::optional<stats::CaptureSnapshot> ended;
    engine.run(interrupt.fd(), [&](const stats::Snapshot& s) {
        expect_identities(s);
        if (number == 0 && !s.captures[0].failure.empty())
            number = engine.stop_capture("s0");
        ended = engine.stopped_capture(number);
        if (ended)
            interrupt.now();
    });
    engine.stop();
    ASSERT_TRUE(ended);
    EXPECT_THAT(ended->failure,
                AllOf(HasSubstr("cannot write the capture file"), HasSubstr("the files keep")));
    EXPECT_GT(ended->written, 0U);
    EXPECT_EQ(ended->taken, ended->written + ended->unwritten);
    ASSERT_EQ(engine.problems().size(), 1U);
    EXPECT_THAT(engine.problems()[0], HasSubstr("stream s0: cannot write the capture file"));
    EXPECT_THAT(
        events,
        ElementsAre(StartsWith("capture_failed: its capture is over: cannot write the capture file")));
}

TEST_F(Captures, AFullDiskEndsACaptureAndNotTheStream) {
    Plan plan = loopback(300);
    plan.receives[0].capture = options();
    const spead::test::FileSizeLimit limit(100'000);
    const Ended e = run(plan, layout_on_two_lcores(plan));
    EXPECT_EQ(e.reason, Reason::sent);
    EXPECT_EQ(e.stream().heaps_verified, 300U);
    ASSERT_EQ(e.problems.size(), 1U);
    EXPECT_THAT(e.problems[0], HasSubstr("stream s0: cannot write the capture file"));
    EXPECT_EQ(e.stream().events[static_cast<std::size_t>(stats::StreamEvent::capture_failed)], 1U);
    EXPECT_EQ(read_pcap(scratch.file("a.pcap")).size(), e.last.captures[0].written);
}

TEST_F(Captures, ARunThatOnlyCapturesEndsWithItsCaptures) {
    const std::string in = scratch.file("in.pcap");
    {
        Plan plan = loopback(100);
        plan.receives[0].capture = options("in.pcap");
        ASSERT_THAT(run(plan).problems, IsEmpty());
    }
    Plan plan;
    plan.memory.heaps = 16 * kMiB;
    plan.ports = {{"p0", "net_pcap0,infinite_rx=1,rx_pcap=" + in, 0}};
    plan.receives = {receive("s0", "239.1.2.3:7148")};
    plan.receives[0].sink.kind = SinkKind::null;
    plan.receives[0].capture = options();
    plan.receives[0].capture->only = true;
    plan.receives[0].capture->count = 777;
    const Ended e = run(plan);
    EXPECT_EQ(e.reason, Reason::captured);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.packets(PacketOutcome::captured), 777U);
    EXPECT_EQ(e.last.captures[0].written, 777U);
    const auto before = read_pcap(in);
    const auto after = read_pcap(scratch.file("a.pcap"));
    ASSERT_EQ(after.size(), 777U);
    for (std::size_t i = 0; i < after.size(); i++)
        ASSERT_EQ(after[i], before[i % before.size()]) << i;
}

}  // namespace
}  // namespace spead::runtime::test
