// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lockstep.hpp"

#include <gmock/gmock.h>

#include "runtime/paths.hpp"
#include "stats/paths.hpp"
#include "tests/eal/runtime/live_rig.hpp"

/// Tests a sender and its copy in whole runs, over a ring for each path.
namespace spead::runtime::test {
namespace {

using testing::IsEmpty;

/// Makes a plan with a sender, its copy, and a stream that takes both with the usual window.
Plan copied(std::int64_t heaps) {
    Plan plan;
    plan.memory.heaps = 256 * kMiB;
    plan.ports = {{"p0", "net_ring0", 0}, {"p1", "net_ring1", 0}};
    ReceivePlan r = receive("s0", "239.1.2.3:7148");
    r.paths = {"p0", "p1"};
    r.max_live = kPathLive;
    r.max_bytes = 32 * 1024;
    r.history = kPathHistory;
    r.history_time = 100;
    r.on_full = OnFullSetting::block;
    plan.receives = {r};
    SendPlan s = send("d0", "239.1.2.3:7148", heaps, "p0");
    s.heap_size = 20 * 1400;
    plan.sends = {s, s};
    plan.sends[1].name = "d1";
    plan.sends[1].port = "p1";
    plan.sends[1].copy_of = "d0";
    return plan;
}

Plan live(double rate) {
    Plan plan = copied(-1);
    plan.runtime.live = true;
    plan.receives[0].lcores = {5};
    for (SendPlan& s : plan.sends) {
        s.lcore = 6;
        s.rate = rate;
    }
    return plan;
}

void expect_whole(const Ended& e) {
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_EQ(e.stream().heaps_verified, e.stream().heaps_delivered);
    EXPECT_EQ(e.stream().heaps_ended[1] + e.stream().heaps_ended[2] + e.stream().heaps_ended[3], 0U);
}

TEST(Lockstep, CopiesOfEveryHeapComeInStepWithoutARate) {
    for (const bool copy_first : {false, true}) {
        Plan plan = copied(3000);
        if (copy_first)
            std::swap(plan.sends[0], plan.sends[1]);
        const Ended e = run(plan);
        expect_whole(e);
        EXPECT_EQ(e.complete(), 3000U);
        EXPECT_EQ(e.stream().heaps_verified, 3000U);
        EXPECT_EQ(e.packets(PacketOutcome::late), 0U);
        for (int i = 0; i < 2; i++) {
            EXPECT_EQ(e.sent(i).counters.heaps, 3000U);
            EXPECT_EQ(e.sent(i).left_out, 0U);
        }
        EXPECT_EQ(e.packets(PacketOutcome::redundant) * 2, e.stream().received);
    }
}

TEST(Lockstep, OneThatIsStoppedEndsNoHeapOfTheOther) {
    for (const std::size_t stopped : {0, 1}) {
        Script script;
        std::uint64_t heaps = 0;
        script.wait([](const stats::Snapshot& s) { return s.streams[0].paths[1].redundant > 100; });
        script.change([&](Plan& p) { p.sends[stopped].enabled = false; });
        script.add([&heaps](Engine&, const stats::Snapshot& s) { heaps = s.streams[0].heaps_verified; });
        script.wait([&heaps](const stats::Snapshot& s) { return s.streams[0].heaps_verified > heaps + 100; });
        script.change([&](Plan& p) { p.sends[stopped].enabled = true; });
        script.wait([stopped](const stats::Snapshot& s) {
            return s.sends[stopped].left_out > 50 && s.sends[stopped].state == "sending";
        });
        script.add([&heaps](Engine&, const stats::Snapshot& s) { heaps = s.streams[0].heaps_verified; });
        script.wait([&heaps](const stats::Snapshot& s) { return s.streams[0].heaps_verified > heaps + 100; });
        const Ended e = script.run(live(20e6));
        expect_whole(e);
        // A machine that is busy may leave either of them behind for a moment.
        EXPECT_EQ(e.sent(stopped).counters.heaps + e.sent(stopped).left_out,
                  e.sent(1 - stopped).counters.heaps + e.sent(1 - stopped).left_out)
            << "those of before the stop are not left out";
        EXPECT_LT(e.sent(1 - stopped).left_out, e.sent(stopped).left_out);
    }
}

TEST(Lockstep, OneWhosePortTakesNothingIsLeftBehind) {
    Script script;
    std::uint64_t redundant = 0;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].paths[0].redundant > 100; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p1"); });
    // 714 heaps a second.
    script.wait([](const stats::Snapshot& s) {
        return s.streams[0].health == "path_silent" && s.sends[1].left_out > 1500;
    });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.start_port("p1"); });
    script.wait([&redundant](const stats::Snapshot& s) {
        redundant = s.streams[0].paths[0].redundant + s.streams[0].paths[1].redundant;
        return s.sends[1].left_out > 0;
    });
    script.wait([&redundant](const stats::Snapshot& s) {
        return s.streams[0].paths[0].redundant + s.streams[0].paths[1].redundant > redundant + 500;
    });
    Plan plan = live(20e6);
    plan.receives[0].silent_after = 0.3;
    plan.receives[0].history_time = 1;  // an older heap would be another one
    const Ended e = script.run(plan);
    expect_whole(e);
    EXPECT_EQ(e.stream().heaps_verified, e.sent(0).counters.heaps) << "the first path lost nothing, and no "
                                                                      "heap of the other one came again";
    EXPECT_GT(e.sent(1).counters.aborted, 0U);
}

}  // namespace
}  // namespace spead::runtime::test
