// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "runtime/heap_generator.hpp"
#include "tests/eal/runtime/live_rig.hpp"
#include "tests/support/scratch_directory.hpp"

/// Tests senders that come, go, stop and start while others send.
namespace spead::runtime::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using Reason = Engine::Reason;

TEST(ChangeSends, StopsStartsAndRetunesASender) {
    Plan plan = live_plan(1);
    Script script;
    std::uint64_t heaps = 0;
    script.wait([](const stats::Snapshot& s) { return s.sends[0].counters.heaps > 10; });
    script.change([](Plan& p) { p.sends[0].enabled = false; });
    script.wait([](const stats::Snapshot& s) { return s.sends[0].control_heaps == 1; });
    script.add([&](Engine&, const stats::Snapshot& s) { heaps = s.sends[0].counters.heaps; });
    script.add([&](Engine&, const stats::Snapshot& s) { EXPECT_EQ(s.sends[0].counters.heaps, heaps); });
    script.change([](Plan& p) {
        p.sends[0].enabled = true;
        p.sends[0].heaps = 7;
        p.sends[0].rate = 1e8;
        p.sends[0].ttl = 9;
        p.sends[0].dscp = 46;
    });
    script.wait([&](const stats::Snapshot& s) {
        return s.sends[0].counters.heaps == heaps + 7 && s.sends[0].control_heaps == 2;
    });
    const Ended e = script.run(plan);
    EXPECT_EQ(e.reason, Reason::interrupted) << "a sender that has sent everything";
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
    EXPECT_EQ(e.last.streams[0].heaps_delivered, heaps + 7) << "counts went on, else they were duplicates";
}

/// Makes a sender beside that of live_plan(), on a group of its own.
SendPlan sender(const std::string& name, const std::string& endpoints, std::int64_t heaps = -1) {
    SendPlan s = send(name, endpoints, heaps);
    s.first_count = 1;
    return s;
}

const stats::SendSnapshot& sent_by(const stats::Snapshot& s, const std::string& name) {
    return *std::find_if(s.sends.begin(), s.sends.end(), [&](const auto& one) { return one.name == name; });
}

TEST(ChangeSends, AddsASenderAndRemovesItWhileTheOtherLosesNothing) {
    Script script;
    std::uint64_t delivered = 0;
    script.change([](Plan& p) {
        p.receives.push_back(receive("fresh", "239.5.0.0:7148"));
        p.sends.insert(p.sends.begin(), sender("d1", "239.5.0.0:7148"));
    });
    script.wait([](const stats::Snapshot& s) {
        return snapshot_of(s, "fresh").heaps_verified > 20 && sent_by(s, "d1").counters.heaps > 20;
    });
    script.change([](Plan& p) { p.sends.erase(p.sends.begin()); });
    script.wait([&](const stats::Snapshot& s) {
        const stats::SendSnapshot& gone = s.removed_sends;
        const stats::StreamSnapshot& fresh = snapshot_of(s, "fresh");
        delivered = fresh.heaps_delivered;
        return s.sends.size() == 1 && gone.control_heaps == 1 && fresh.stop_items == 1 &&
               delivered == gone.counters.heaps;
    });
    script.add([&](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.removed_sends.counters.aborted, 0U);
        EXPECT_EQ(s.removed_sends.counters.dropped, 0U);
        EXPECT_EQ(s.lcores[1].sends, std::vector<std::string>{"d0"});
        EXPECT_GT(delivered, 20U);
        expect_nothing_lost(snapshot_of(s, "fresh"));
    });
    // Under the same name again, and done by itself.
    script.change([](Plan& p) {
        p.sends.push_back(sender("d1", "239.5.0.0:7148", 5));
        p.sends.back().first_count = 1'000'000;
    });
    script.wait([&](const stats::Snapshot& s) {
        return snapshot_of(s, "fresh").heaps_delivered == delivered + 5 &&
               sent_by(s, "d1").counters.heaps == 5;
    });
    const Ended e = script.run(live_plan(1));
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_THAT(e.problems, IsEmpty());
    for (const stats::StreamSnapshot& s : e.last.streams)
        expect_nothing_lost(s);
    EXPECT_EQ(e.last.ports[0].rx_packets, e.last.ports[0].tx_packets);
}

/// Removes senders one after another; nothing else explains why the port sent less than they gave it.
TEST(ChangeSends, RemovedSendersLeaveTheCountsOfTheirImpairments) {
    Script script;
    const auto add = [&script](const std::string& name, const std::string& impair) {
        script.change([=](Plan& p) {
            p.sends.push_back(sender(name, "239.5.0.0:7148"));
            p.sends.back().impair = impair;
        });
        script.wait([=](const stats::Snapshot& s) { return sent_by(s, name).counters.heaps > 20; });
        script.change([](Plan& p) { p.sends.pop_back(); });
    };
    const auto removed = [&script](std::uint64_t senders, const std::string& impair) {
        script.wait([=](const stats::Snapshot& s) { return s.removed_sends.control_heaps == senders; });
        script.add([=](Engine&, const stats::Snapshot& s) { EXPECT_EQ(s.removed_sends.impair, impair); });
    };
    add("d1", "");
    removed(1, "");
    add("d2", "loss=50%");
    removed(2, "loss=50%");
    add("d3", "loss=50%");
    removed(3, "loss=50%");
    add("d4", "loss=20%");
    removed(4, "several ways");
    const Ended e = script.run(live_plan(1));
    EXPECT_THAT(e.problems, IsEmpty());
    const stats::SendCounters& c = e.last.removed_sends.counters;
    EXPECT_GT(c.impaired_lost, 0U);
    EXPECT_GT(c.packets, c.impaired_lost + c.impaired_sent) << "those of d1 were not impaired";
    EXPECT_EQ(c.impaired_dropped, 0U);
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, ManySendersComeAndGoInOneRun) {
    Script script;
    script.add([](Engine& engine, const stats::Snapshot&) {
        for (int round = 0; round < 30; round++) {
            Plan plan = engine.plan();
            if (plan.sends.size() > 1)
                plan.sends.erase(plan.sends.begin() + 1);
            plan.sends.push_back(sender(fmt::format("x{}", round), "239.5.0.0:7148", 3));
            engine.reconfigure(plan);
        }
    });
    script.change([](Plan& p) { p.sends.resize(1); });
    script.wait([](const stats::Snapshot& s) { return s.removed_sends.control_heaps == 30; });
    const Ended e = script.run(live_plan(1));
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, ASenderComesToAPortThatOnlyReceivedSoFar) {
    Plan plan = live_plan(1);
    plan.sends.clear();
    Script script;
    script.change([](Plan& p) { p.sends.push_back(sender("d0", "239.1.0.0:7148", 50)); });
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_verified == 50; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, APatternGoesOnInTimeAfterEachStop) {
    Plan plan = live_plan(1);
    SendPlan& p1 = plan.sends[0];
    p1.pattern = HeapPattern::p1;
    p1.senders = 4;
    p1.heap_size = 5120;
    p1.max_packet_size = 5192;
    p1.address_bits = 48;
    p1.max_heaps = 8;
    plan.receives[0].max_live = 8;
    Script script;
    std::uint64_t heaps = 0;
    // Each stop finds four heaps that are made and wait for the sender, which has memory for nine.
    for (std::uint64_t stop = 1; stop <= 5; stop++) {
        script.wait([&](const stats::Snapshot& s) { return s.sends[0].counters.heaps > heaps + 20; });
        script.change([](Plan& p) { p.sends[0].rate = 50 * 5192; });
        script.change([](Plan& p) { p.sends[0].enabled = false; });
        script.wait([stop](const stats::Snapshot& s) { return s.sends[0].control_heaps == stop; });
        script.add([&](Engine&, const stats::Snapshot& s) { heaps = s.sends[0].counters.heaps; });
        script.change([](Plan& p) {
            p.sends[0].enabled = true;
            p.sends[0].rate = 0;
        });
    }
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    const stats::StreamSnapshot& s = e.last.streams[0];
    expect_nothing_lost(s);
    EXPECT_GT(s.heaps_verified, 100U);
    EXPECT_EQ(s.heaps_wrong, 0U);
}

/// Refuses to start.
class Reluctant final : public HeapSource {
  public:
    void start(const std::vector<unsigned>&, std::int64_t) override { throw Error("no thread"); }
    void request_stop() noexcept override {}
    void abandon() noexcept override {}
    void join() override {}
    bool done() const noexcept override { return true; }
    std::string failure() const override { return {}; }
};

std::unique_ptr<HeapSource> make_bad_one(const SendPlan& s, send::Sender& sender,
                                         memory::RegionTable& regions) {
    if (s.name == "bad")
        return std::make_unique<Reluctant>();
    return std::make_unique<HeapGenerator>(s, sender, regions);
}

TEST(ChangeSends, SendersAreAsBeforeWhenOneCannotBeStarted) {
    EngineHooks hooks;
    hooks.make_heap_source = make_bad_one;
    Script script;
    script.change([](Plan& p) {
        p.sends.push_back(sender("rests", "239.5.0.0:7148"));
        p.sends.back().enabled = false;
    });
    Plan before;
    script.add([&](Engine& engine, const stats::Snapshot&) {
        before = engine.plan();
        Plan plan = before;
        plan.sends[0].rate = 100;  // would send nothing to speak of
        plan.sends[1].enabled = true;
        plan.sends.push_back(sender("bad", "239.5.0.1:7148"));
        plan.receives.push_back(receive("x", "239.9.9.9:7148"));
        EXPECT_THROW(engine.reconfigure(plan), Error);
        EXPECT_EQ(engine.plan(), before);
    });
    std::uint64_t heaps = 0;
    script.add([&](Engine&, const stats::Snapshot& s) { heaps = s.sends[0].counters.heaps; });
    script.wait([&](const stats::Snapshot& s) {
        return s.sends[0].counters.heaps > heaps + 100 && s.sends[1].control_heaps == 1;
    });
    script.add([](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(s.sends.size(), 2U);
        EXPECT_EQ(s.streams.size(), 1U);
    });
    const Ended e = script.run(live_plan(1), hooks);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, AStreamWhoseStartIsUndoneIsNotCapturedAnyMore) {
    const spead::test::ScratchDirectory scratch{spead::test::ScratchDirectory::on_disk()};
    EngineHooks hooks;
    hooks.make_heap_source = make_bad_one;
    Plan plan = live_plan(2);
    plan.receives[1].enabled = false;
    plan.receives[1].capture.emplace().files = {scratch.file("a.pcap")};
    Script script;
    script.add([](Engine& engine, const stats::Snapshot&) {
        Plan wanted = engine.plan();
        const Plan before = wanted;
        wanted.receives[1].enabled = true;
        wanted.sends.push_back(sender("bad", "239.5.0.1:7148"));
        EXPECT_THROW(engine.reconfigure(wanted), Error);
        EXPECT_EQ(engine.plan(), before);
        EXPECT_THROW(engine.stop_capture("s1"), Error) << "nothing is captured";
    });
    // It can be started, and captured, as if nothing had been.
    script.wait([](const stats::Snapshot& s) { return s.captures.at(0).finished; });
    script.change([&](Plan& p) { p.receives[1].enabled = true; });
    script.wait([](const stats::Snapshot& s) { return s.streams[1].heaps_verified > 10; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_capture("s1"); });
    const Ended e = script.run(plan, hooks);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, ARunEndsWithAProblemWhenAChangeCannotBeUndone) {
    EngineHooks hooks;
    hooks.make_heap_source = make_bad_one;
    bool sinks_fail = false;
    hooks.make_sink = [&](const SinkPlan& plan, const std::string& stream) {
        if (sinks_fail)
            throw Error("no sink");
        return make_sink(plan, stream);
    };
    Script script;
    script.add([&](Engine& engine, const stats::Snapshot&) {
        Plan plan = engine.plan();
        plan.receives[1].enabled = false;  // its way back needs a sink
        plan.sends.push_back(sender("bad", "239.5.0.1:7148"));
        sinks_fail = true;
        EXPECT_THAT([&] { engine.reconfigure(plan); }, ThrowsMessage<Error>(HasSubstr("no thread")));
    });
    const Ended e = script.run(live_plan(2), hooks);
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_THAT(e.problems, ElementsAre(AllOf(HasSubstr("could not be undone"), HasSubstr("no sink"))));
    expect_nothing_lost(e.last.streams[0]);
}

TEST(ChangeSends, HeapsTimeOutWhileTheirPortIsStopped) {
    Plan plan = live_plan(1);
    plan.sends[0].timeout = 0.05;
    Script script;
    std::uint64_t heaps = 0;
    script.wait([](const stats::Snapshot& s) { return s.sends[0].counters.heaps > 10; });
    script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p0"); });
    script.wait([](const stats::Snapshot& s) { return s.sends[0].counters.timed_out >= 8; });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        heaps = engine.snapshot().sends[0].counters.heaps;
        engine.start_port("p0");
    });
    script.wait([&](const stats::Snapshot& s) { return s.sends[0].counters.heaps > heaps + 10; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.last.streams[0].heaps_wrong, 0U);
}

/// Gives up heaps that take half a minute each, with those that were not begun.
TEST(ChangeSends, ARunEndsWithASlowSenderOnAPortThatIsStopped) {
    for (const double timeout : {0.0, 0.02}) {
        Plan plan = live_plan(1);
        plan.sends[0].heap_size = 4 << 20;
        plan.sends[0].rate = 125'000;
        plan.sends[0].timeout = timeout;
        Script script;
        script.wait([](const stats::Snapshot& s) { return s.sends[0].counters.packets != 0; });
        script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p0"); });
        const Ended e = script.run(plan);
        EXPECT_THAT(e.problems, IsEmpty()) << timeout;
    }
}

/// Starts from 800 b/s, at which the first burst takes ten minutes.
TEST(ChangeSends, ARateThatIsRaisedHoldsAtOnce) {
    Plan plan = live_plan(1);
    plan.sends[0].rate = 100;
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.sends[0].counters.bytes >= 65'536; });
    script.change([](Plan& p) { p.sends[0].rate = 125e6; });
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > 100; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    expect_nothing_lost(e.last.streams[0]);
}

}  // namespace
}  // namespace spead::runtime::test
