// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <optional>
#include <thread>

#include "tests/eal/runtime/live_rig.hpp"
#include "tests/support/file_size_limit.hpp"

/// Tests streams and ports that change while packets come.
namespace spead::runtime::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Reason = Engine::Reason;

TEST(Change, AddsAndRemovesTwoHundredStreamsWhileFourLoseNothing) {
    Script script;
    script.add([](Engine& engine, const stats::Snapshot&) {
        for (unsigned i = 0; i < 200; i++) {
            Plan plan = engine.plan();
            ReceivePlan added = receive(fmt::format("x{}", i), fmt::format("239.9.0.{}:7148", i));
            added.max_bytes = 32 * 1024;  // all of them may have heaps at once, and lose none
            if (i % 2 != 0)
                added.lcores = {6};
            plan.receives.push_back(added);
            engine.reconfigure(plan);
        }
        EXPECT_EQ(engine.snapshot().streams.size(), 204U);
        for (unsigned i = 0; i < 200; i++) {
            Plan plan = engine.plan();
            plan.receives.erase(plan.receives.begin() + 4 + (i % 3 == 0 && plan.receives.size() > 5 ? 1 : 0));
            engine.reconfigure(plan);
        }
    });
    const Ended e = script.run(live_plan(4));
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_THAT(e.problems, IsEmpty());
    ASSERT_EQ(e.last.streams.size(), 4U);
    for (const stats::StreamSnapshot& s : e.last.streams)
        expect_nothing_lost(s);
    EXPECT_EQ(e.last.ports[0].rx_packets, e.last.ports[0].tx_packets);
    EXPECT_EQ(e.last.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)], 0U);
}

TEST(Change, ReceivesWhatIsAddedAndKeepsTheCountsOfWhatIsRemoved) {
    Script script;
    script.wait([](const stats::Snapshot& s) {
        return s.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)] != 0;
    });
    script.change([](Plan& plan) { plan.receives.push_back(receive("late", "239.1.0.2:7148")); });
    script.wait([](const stats::Snapshot& s) { return snapshot_of(s, "late").heaps_verified > 10; });
    script.change([](Plan& plan) { std::erase_if(plan.receives, [](auto& r) { return r.name == "late"; }); });
    script.add([](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.streams.size(), 2U);
        EXPECT_GT(s.removed.heaps_verified, 10U);
        EXPECT_EQ(s.removed.heaps_wrong, 0U);
        EXPECT_EQ(s.removed.heaps_live, 0U);
        EXPECT_EQ(s.removed.heaps_queued, 0U);
    });
    // The same name again begins at nothing.
    script.change([](Plan& plan) { plan.receives.push_back(receive("late", "239.1.0.2:7148")); });
    script.wait([](const stats::Snapshot& s) { return snapshot_of(s, "late").heaps_verified > 1; });
    const Ended e = script.run(live_plan(2, 1));
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    expect_nothing_lost(e.last.streams[1]);
}

TEST(Change, AddsAndRemovesEndpointsWhileTheOthersOfTheStreamLoseNothing) {
    Script script;
    for (int round = 0; round < 3; round++) {
        script.change([](Plan& plan) {
            set_endpoints(stream(plan, "s0"), {"239.1.0.2:7148", "239.1.0.0:7148", "239.1.0.3:7148"});
        });
        script.wait([seen = std::uint64_t{0}](const stats::Snapshot& s) mutable {
            seen = seen == 0 ? s.streams[0].received : seen;
            return s.streams[0].received > seen + 1000;
        });
        script.change([](Plan& plan) { set_endpoints(stream(plan, "s0"), {"239.1.0.0:7148"}); });
    }
    const Ended e = script.run(live_plan(2, 2));
    EXPECT_THAT(e.problems, IsEmpty());
    const stats::StreamSnapshot& s = e.last.streams[0];
    EXPECT_EQ(s.heaps_wrong, 0U);
    // Heaps of an endpoint that goes are incomplete, and nothing else is.
    EXPECT_LE(s.heaps_started - s.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 6U * 8U);
    expect_nothing_lost(e.last.streams[1]);
}

TEST(Change, MovesAStreamToAnotherLcoreAndBack) {
    Script script;
    const auto received_on = [](const stats::Snapshot& s, std::size_t lcore, const std::string& name) {
        for (const auto& share : s.lcores[lcore].streams)
            if (share.name == name)
                return share.received;
        return std::uint64_t{0};
    };
    script.wait([&](const stats::Snapshot& s) { return received_on(s, 0, "s1") > 100; });
    script.change([](Plan& plan) { stream(plan, "s1").lcores = {6}; });
    script.wait([&](const stats::Snapshot& s) { return received_on(s, 1, "s1") > 1000; });
    std::uint64_t there = 0;
    script.change([](Plan& plan) { stream(plan, "s1").lcores = {5, 6}; });
    script.add(
        [&](Engine& engine, const stats::Snapshot&) { there = received_on(engine.snapshot(), 0, "s1"); });
    script.wait([&](const stats::Snapshot& s) { return received_on(s, 0, "s1") > there + 1000; });
    script.change([](Plan& plan) { stream(plan, "s1").lcores = {5}; });
    script.add(
        [&](Engine& engine, const stats::Snapshot&) { there = received_on(engine.snapshot(), 1, "s1"); });
    script.wait([&](const stats::Snapshot& s) { return s.streams[1].heaps_delivered > 100; });
    script.add([&](Engine&, const stats::Snapshot& s) { EXPECT_EQ(received_on(s, 1, "s1"), there); });
    const Ended e = script.run(live_plan(2));
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    const stats::StreamSnapshot& moved = e.last.streams[1];
    EXPECT_EQ(moved.heaps_wrong, 0U);
    EXPECT_EQ(moved.heaps_verified, moved.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)]);
    EXPECT_LE(moved.heaps_started - moved.heaps_verified, 3U * 2U * 8U) << "only what was in flight";
}

TEST(Change, StopsAndStartsAStream) {
    Directory directory;
    Plan plan = live_plan(2);
    plan.receives[1].sink = {SinkKind::file, directory.file("out")};
    Script script;
    std::uint64_t received = 0;
    script.wait([](const stats::Snapshot& s) { return s.streams[1].heaps_delivered > 5; });
    script.change([](Plan& p) { stream(p, "s1").enabled = false; });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        received = engine.snapshot().streams[1].received;
        EXPECT_GT(received, 0U);
    });
    script.add([&](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.streams[1].received, received);
        EXPECT_EQ(s.streams[1].heaps_live, 0U);
    });
    script.change([](Plan& p) { stream(p, "s1").enabled = true; });
    script.wait([&](const stats::Snapshot& s) { return s.streams[1].received > received + 100; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    std::ifstream lines(directory.file("out") + "/heaps.jsonl");
    const auto count = std::count(std::istreambuf_iterator<char>(lines), {}, '\n');
    EXPECT_EQ(static_cast<std::uint64_t>(count), e.last.streams[1].heaps_delivered)
        << "what both sinks wrote";
}

TEST(Change, GivesAStreamThatIsStartedAgainANewSink) {
    Directory directory;
    Plan plan = live_plan(2);
    plan.receives[1].sink = {SinkKind::file, directory.file("out")};
    std::optional<spead::test::FileSizeLimit> full_disk(std::in_place, 1000);
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[1].heaps_unwritten > 5; });
    script.change([](Plan& p) { stream(p, "s1").enabled = false; });
    script.add([&](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.streams[1].heaps_delivered, 0U);
        full_disk.reset();
    });
    script.change([](Plan& p) { stream(p, "s1").enabled = true; });
    script.wait([](const stats::Snapshot& s) { return s.streams[1].heaps_delivered > 5; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, ElementsAre(HasSubstr("stream s1: its sink takes no more heaps")));
    EXPECT_EQ(e.last.streams[1].sink_failure, "") << "of the sink that it has now";
    EXPECT_GT(e.last.streams[1].heaps_unwritten, 5U);
    expect_nothing_lost(e.last.streams[0]);
}

TEST(Change, FinishesTheSinkOfAStreamOnTwoLcoresThatIsStopped) {
    Directory directory;
    Plan plan = live_plan(1);
    plan.receives[0].lcores = {5, 6};
    plan.receives[0].sink = {SinkKind::file, directory.file("out")};
    Script script;
    std::uint64_t delivered = 0;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > 20; });
    script.change([](Plan& p) { p.receives[0].enabled = false; });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        delivered = engine.snapshot().streams[0].heaps_delivered;
        std::ifstream lines(directory.file("out") + "/heaps.jsonl");
        const auto count = std::count(std::istreambuf_iterator<char>(lines), {}, '\n');
        EXPECT_EQ(static_cast<std::uint64_t>(count), delivered) << "its lines are written when it stops";
        EXPECT_EQ(engine.snapshot().streams[0].heaps_dropped_full, 0U);
    });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_GT(delivered, 20U);
}

TEST(Change, StartsWithAStreamThatIsNotReceived) {
    Plan plan = live_plan(2);
    plan.receives[1].enabled = false;
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].received > 100; });
    script.add([](Engine&, const stats::Snapshot& s) { EXPECT_EQ(s.streams[1].received, 0U); });
    script.change([](Plan& p) { stream(p, "s1").enabled = true; });
    script.wait([](const stats::Snapshot& s) { return s.streams[1].heaps_verified > 10; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
}

TEST(Change, StartsWithoutAnyStream) {
    Plan plan;
    plan.runtime.live = true;
    plan.memory.heaps = 64 * kMiB;
    plan.ports = {{"p0", "net_null0", 0}};
    Script script;
    script.change([](Plan& p) {
        p.receives.push_back(receive("s0", "239.1.2.3:7148"));
        p.receives[0].max_bytes = kMiB;
    });
    script.wait([](const stats::Snapshot& s) { return s.ports[0].rx_packets > 0; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
}

TEST(Change, StopsAPortAndStartsItAgain) {
    Script script;
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > 10; });
    script.add([](Engine& engine, const stats::Snapshot&) {
        EXPECT_THROW(engine.start_port("p0"), Error) << "it runs";
        EXPECT_THROW(engine.stop_port("p1"), Error);
        engine.stop_port("p0");
        EXPECT_THROW(engine.stop_port("p0"), Error) << "it is stopped";
    });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        const stats::Snapshot s = engine.snapshot();
        received = s.streams[0].received;
        sent = s.sends[0].counters.packets;
    });
    script.add([&](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.streams[0].received, received);
        EXPECT_EQ(s.sends[0].counters.packets, sent);
    });
    // The changes made meanwhile count when it runs again.
    script.change([](Plan& p) {
        p.receives.push_back(receive("late", "239.1.0.1:7148"));
        p.receives.back().lcores = {6};  // an lcore that had nothing of this port
    });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.start_port("p0"); });
    script.wait([&](const stats::Snapshot& s) {
        return s.streams[0].received > received + 1000 && snapshot_of(s, "late").heaps_delivered > 1;
    });
    const Ended e = script.run(live_plan(1, 1));
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.last.streams[0].heaps_wrong, 0U);
}

TEST(Change, EndsWithAPortThatIsStopped) {
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > 10; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p0"); });
    const Ended e = script.run(live_plan(1));
    EXPECT_THAT(e.problems, IsEmpty()) << "it was asked for";
}

TEST(Change, RefusesWhatCannotBeAndChangesNothing) {
    const auto refused = [](const std::function<void(Plan&)>& edit, const std::string& says) {
        return [edit, says](Engine& engine, const stats::Snapshot&) {
            const Plan before = engine.plan();
            Plan plan = before;
            edit(plan);
            try {
                engine.reconfigure(plan);
                ADD_FAILURE() << "accepted: " << says;
            } catch (const Error& error) {
                EXPECT_THAT(error.what(), HasSubstr(says));
            }
            EXPECT_EQ(engine.plan(), before);
        };
    };
    const auto add = [](const std::function<void(ReceivePlan&)>& edit) {
        return [edit](Plan& plan) {
            plan.receives.push_back(receive("x", "239.9.9.9:7148"));
            edit(plan.receives.back());
        };
    };
    Script script;
    script.add(refused([](Plan& p) { p.ports[0].mtu = 1400; }, "port p0"));
    script.add(refused([](Plan& p) { p.ports.push_back({"p1", "net_null0", 0}); }, "p1"));
    script.add(refused([](Plan& p) { p.memory.heaps *= 2; }, "[memory]"));
    script.add(refused([](Plan& p) { p.runtime.lcores = {5}; }, "[runtime]"));
    script.add(refused([](Plan& p) { p.end.heaps = 5; }, "[end]"));
    script.add(refused([](Plan& p) { p.sends[0].heap_size = 1000; }, "send d0"));
    const auto add_send = [](const std::function<void(SendPlan&)>& edit) {
        return [edit](Plan& plan) {
            plan.sends.push_back(plan.sends[0]);
            plan.sends.back().name = "d1";
            plan.sends.back().lcore = std::nullopt;
            edit(plan.sends.back());
        };
    };
    script.add(refused(add_send([](SendPlan& s) { s.lcore = 7; }), "CPU 7"));
    script.add(refused(add_send([](SendPlan& s) { s.lcore = 5; }), "transmit queues of port p0"));
    script.add(refused(add_send([](SendPlan& s) { s.max_heaps = 1U << 19, s.heap_size = 1ULL << 40; }),
                       "heaps in flight need"));
    script.add(refused(add([](ReceivePlan& r) { r.lcores = {7}; }), "CPU 7"));
    script.add(refused(add([](ReceivePlan& r) { r.max_packet_size = 65000; }), "max_packet_size"));
    script.add(refused(add([](ReceivePlan& r) { r.max_bytes = 512 * kMiB; }), "max_bytes"));
    const Ended e = script.run(live_plan(2));
    EXPECT_THAT(e.problems, IsEmpty());
    for (const stats::StreamSnapshot& s : e.last.streams)
        expect_nothing_lost(s);
}

TEST(Change, MovesStreamsWhoseFragmentsAreReassembledTogether) {
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 5; });
    script.add([](Engine& engine, const stats::Snapshot&) {
        Plan plan = engine.plan();
        plan.receives[0].lcores = {6};
        try {
            engine.reconfigure(plan);
            ADD_FAILURE() << "accepted";
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), AllOf(HasSubstr("port p0"), HasSubstr("on CPUs 6, 5"),
                                            HasSubstr("all at once"), HasSubstr("stop the other streams")));
        }
    });
    for (const unsigned cpu : {6U, 5U}) {
        script.change([cpu](Plan& plan) {
            for (ReceivePlan& r : plan.receives)
                r.lcores = {cpu};
        });
        script.wait([from = std::uint64_t{0}](const stats::Snapshot& s) mutable {
            from = from == 0 ? s.streams[1].heaps_verified : from;
            return s.streams[1].heaps_verified > from + 5;
        });
    }
    // One after the other: a stream that is stopped needs no lcore.
    script.change([](Plan& plan) { plan.receives[1].enabled = false; });
    script.change([](Plan& plan) { plan.receives[0].lcores = {6}; });
    script.change([](Plan& plan) { plan.receives[1].lcores = {6}; });
    script.change([](Plan& plan) { plan.receives[1].enabled = true; });
    Plan plan = live_plan(2);
    plan.ports[0].reassemble = true;
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
}

/// Moves all streams of a port from the lcore that polls its queue to another one, and back: packets wait in
/// the ring between the two.
TEST(Change, APacketOnItsWayToTheFormerLcoreIsTakenThere) {
    for (const bool reassembles : {false, true}) {
        Script script;
        script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 5; });
        for (int i = 0; i < 8; i++) {
            script.change([cpu = i % 2 == 0 ? 6U : 5U](Plan& plan) {
                for (ReceivePlan& r : plan.receives)
                    r.lcores = {cpu};
            });
            script.wait([from = std::uint64_t{0}](const stats::Snapshot& s) mutable {
                from = from == 0 ? s.streams[1].heaps_verified : from;
                return s.streams[1].heaps_verified > from + 50;
            });
        }
        Plan plan = live_plan(2);
        plan.ports[0].reassemble = reassembles;
        // No packet waits for a consumer.
        for (ReceivePlan& r : plan.receives)
            r.on_full = OnFullSetting::drop_newest;
        const Ended e = script.run(plan);
        EXPECT_THAT(e.problems, IsEmpty());
        EXPECT_EQ(e.last.ports[0].rx[static_cast<std::size_t>(PortOutcome::unmatched)], 0U);
    }
}

TEST(Change, GoesBackWhenASinkCannotBeMade) {
    Script script;
    script.add([](Engine& engine, const stats::Snapshot&) {
        const Plan before = engine.plan();
        Plan plan = before;
        plan.receives.push_back(receive("x", "239.9.9.9:7148"));
        plan.receives.back().sink = {SinkKind::file, "/proc/nowhere/at/all"};
        EXPECT_THROW(engine.reconfigure(plan), Error);
        EXPECT_EQ(engine.plan(), before);
        EXPECT_EQ(engine.snapshot().streams.size(), 2U);
    });
    const Ended e = script.run(live_plan(2));
    EXPECT_THAT(e.problems, IsEmpty());
    for (const stats::StreamSnapshot& s : e.last.streams)
        expect_nothing_lost(s);
}

TEST(Change, IsDoneForOtherThreads) {
    const Plan plan = live_plan(1);
    Engine engine(plan, layout_on_cpus(plan));
    Executor executor;
    engine.serve(executor);
    engine.start();
    std::thread other([&] {
        Plan wanted = executor.call([&] { return engine.plan(); });
        wanted.receives.push_back(receive("x", "239.9.9.9:7148"));
        executor.call([&] { engine.reconfigure(wanted); });
        EXPECT_EQ(executor.call([&] { return engine.snapshot(); }).streams.size(), 2U);
        wanted.memory.heaps = 1;
        EXPECT_THROW(executor.call([&] { engine.reconfigure(wanted); }), Error);
        executor.call([&] { engine.interrupt(); });
    });
    EXPECT_EQ(engine.run(-1, {}), Reason::interrupted);
    other.join();
    engine.stop();
    EXPECT_THAT(engine.problems(), IsEmpty());
}

}  // namespace
}  // namespace spead::runtime::test
