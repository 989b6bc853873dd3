// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <thread>

#include "stats/diagnosis.hpp"
#include "stats/since.hpp"
#include "tests/eal/runtime/live_rig.hpp"

/// Tests counts and findings across a change: each stays with its own endpoint, stream or queue.
namespace spead::runtime::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Holds its first heap until it is told.
class Waiting : public Sink {
  public:
    explicit Waiting(std::atomic<bool>& go) : go_(go) {}
    void consume(const heap::HeapHandle&) override {
        while (!go_)
            std::this_thread::yield();
    }

  private:
    std::atomic<bool>& go_;
};

std::uint64_t packets_of(const stats::StreamSnapshot& s, const std::string& endpoint) {
    for (const stats::EndpointSnapshot& e : s.by_endpoint)
        if (e.name == endpoint)
            return e.packets;
    return 0;
}

TEST(ChangeCounts, WhatWasReceivedForAnEndpointIsNeverAnothers) {
    std::atomic<bool> go{false};
    EngineHooks hooks;
    hooks.make_sink = [&go](const SinkPlan&, const std::string&) { return std::make_unique<Waiting>(go); };
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_queued > 0; });
    // Its windows leave, and wait for the consumer meanwhile. Nothing is sent to the new group.
    script.change([](Plan& p) {
        p.receives[0].queue_depth = 100;
        set_endpoints(p.receives[0], {"239.9.9.9:7148"});
    });
    script.add([&go](Engine&, const stats::Snapshot& s) {
        EXPECT_EQ(packets_of(s.streams[0], "239.9.9.9:7148"), 0U);
        EXPECT_GT(packets_of(s.streams[0], "former"), 0U);
        go = true;
    });
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_queued == 0; });
    script.change([](Plan& p) { set_endpoints(p.receives[0], {"239.9.9.8:7148", "239.9.9.9:7148"}); });
    script.add([](Engine& engine, const stats::Snapshot&) {
        const stats::StreamSnapshot s = engine.snapshot().streams[0];
        EXPECT_EQ(packets_of(s, "239.9.9.8:7148"), 0U);
        EXPECT_EQ(packets_of(s, "239.9.9.9:7148"), 0U);
        EXPECT_EQ(packets_of(s, "former"), s.received);
    });
    const Ended e = script.run(live_plan(1), hooks);
    EXPECT_THAT(e.problems, IsEmpty());
}

TEST(ChangeCounts, AnEndpointTermHasTheNumberInThePresentEndpoints) {
    Plan plan = live_plan(1, 2);
    ReceivePlan& r = plan.receives[0];
    set_endpoints(r, {"239.1.0.0:7148", "239.1.0.1:7148"});
    r.sink.kind = SinkKind::null;
    r.chunk.emplace().placement = "heap 20000; axis feed: endpoint [2]; time: heap // 3 [4]";
    const auto complete = [](const stats::Snapshot& s) { return s.streams[0].chunks.complete; };
    const auto taken = [](const stats::Snapshot& s) { return s.streams[0].chunks.taken; };
    std::uint64_t complete_before = 0;
    std::uint64_t taken_before = 0;
    Script script;
    script.wait([&](const stats::Snapshot& s) { return complete(s) > 3; });
    for (const std::vector<std::string>& endpoints : std::vector<std::vector<std::string>>{
             {"239.1.0.0:7148", "239.1.0.2:7148"}, {"239.1.0.2:7148", "239.1.0.1:7148"}}) {
        script.change([endpoints](Plan& p) { set_endpoints(p.receives[0], endpoints); });
        script.add([&](Engine& engine, const stats::Snapshot&) {
            complete_before = complete(engine.snapshot());
            taken_before = taken(engine.snapshot());
        });
        script.wait([&](const stats::Snapshot& s) { return taken(s) > taken_before + 8; });
        script.add([&](Engine&, const stats::Snapshot& s) {
            EXPECT_GT(complete(s), complete_before + 4) << "heaps of both endpoints have their places";
        });
    }
    const Ended e = script.run(plan);
    EXPECT_EQ(e.last.streams[0].packets[static_cast<std::size_t>(PacketOutcome::out_of_range)], 0U);
}

TEST(ChangeCounts, SendersOfAStreamThatWentAreNotShownUnderTheNextOnesName) {
    Script script;
    const auto packets_for = [](const stats::Snapshot& s, const std::string& name) {
        std::uint64_t n = 0;
        for (const stats::TalkerSnapshot& t : s.ports[0].talkers)
            n += t.stream == name ? t.packets : 0;
        return n;
    };
    script.wait([&](const stats::Snapshot& s) { return packets_for(s, "s1") > 100; });
    script.change([](Plan& p) { p.receives.pop_back(); });
    script.change([](Plan& p) {
        p.receives.push_back(receive("quiet", "239.9.9.9:7148"));
        p.receives.back().lcores = {5};
    });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        const stats::Snapshot s = engine.snapshot();
        EXPECT_EQ(packets_for(s, "quiet"), 0U);
        EXPECT_GT(packets_for(s, ""), 100U) << "of no stream";
    });
    const Ended e = script.run(live_plan(2));
    EXPECT_THAT(e.problems, IsEmpty());
}

TEST(ChangeCounts, AStreamMadeAnewUnderItsNameCountsFromItsOwnBeginning) {
    Script script;
    stats::Snapshot base;
    script.wait([&](const stats::Snapshot& s) {
        base = s;
        return s.streams[1].heaps_verified > 5;
    });
    script.change([](Plan& p) { p.receives.pop_back(); });
    script.change([](Plan& p) {
        p.receives.push_back(receive("s1", "239.1.0.1:7148"));
        p.receives.back().lcores = {5};
    });
    // More than the former one had.
    script.wait([&](const stats::Snapshot& s) { return s.streams[1].received > base.streams[1].received; });
    script.add([&](Engine& engine, const stats::Snapshot&) {
        const stats::Snapshot now = engine.snapshot();
        stats::Snapshot since = stats::since(now, base);
        since.detailed = false;  // times of heaps are not taken apart here, the lcores forget them
        expect_identities(since);
        EXPECT_EQ(since.streams[1].received, now.streams[1].received);
        EXPECT_EQ(since.removed.received, now.removed.received - base.streams[1].received);
    });
    const Ended e = script.run(live_plan(2));
    EXPECT_THAT(e.problems, IsEmpty());
}

/// Consumes so slowly that a queue of four places is always full, until it is told to hurry.
class SinkSlowOnDemand : public Sink {
  public:
    explicit SinkSlowOnDemand(const std::atomic<bool>& slow) : slow_(slow) {}
    void consume(const heap::HeapHandle&) override {
        if (slow_)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

  private:
    const std::atomic<bool>& slow_;
};

/// Tests that drops of a short queue are not reported of the long one that follows it.
TEST(ChangeCounts, WhatWasFoundOfAShortQueueIsOverOnceTheQueueIsLong) {
    Plan plan = live_plan(1);
    plan.receives[0].on_full = OnFullSetting::drop_newest;
    plan.receives[0].queue_depth = 4;
    plan.receives[0].sink.kind = SinkKind::null;
    plan.sends[0].rate = 20e6;
    std::atomic<bool> slow{true};
    EngineHooks hooks;
    hooks.make_sink = [&](const SinkPlan&, const std::string&) {
        return std::make_unique<SinkSlowOnDemand>(slow);
    };
    // The first heap may have begun before anybody listened.
    const auto too_slow = [](const stats::Snapshot& s) {
        std::vector<stats::Finding> found = stats::findings_of(s);
        std::erase_if(found, [](const auto& f) { return f.cause != stats::Cause::consumer_too_slow; });
        return found;
    };
    Script script;
    script.wait([](const stats::Snapshot& s) { return s.streams[0].heaps_dropped_full > 50; });
    script.add([&](Engine& engine, const stats::Snapshot& s) {
        const std::vector<stats::Finding> found = too_slow(s);
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].count, s.streams[0].heaps_dropped_full);
        EXPECT_THAT(found[0].sentence(), HasSubstr("4 of 4 places"));
        slow = false;
        Plan wanted = engine.plan();
        wanted.receives[0].queue_depth = 1024;
        engine.reconfigure(wanted);
    });
    std::uint64_t then = 0;
    script.add([&](Engine&, const stats::Snapshot& s) { then = s.streams[0].heaps_delivered; });
    script.wait([&](const stats::Snapshot& s) { return s.streams[0].heaps_delivered > then + 100; });
    const Ended e = script.run(plan, hooks);
    const std::vector<stats::Finding> found = too_slow(e.last);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_GT(found[0].until_s, 0);
    EXPECT_EQ(found[0].count, e.stream().heaps_dropped_full) << "those of the change itself included";
    EXPECT_THAT(found[0].sentence(), HasSubstr("4 of 4 places"));
    EXPECT_THAT(found[0].sentence(), Not(HasSubstr("raise")));
}

/// Tests that heaps whose first packets came before a change, and the others after it, are not called lost.
TEST(ChangeCounts, HeapsThatAChangeCutsInTwoAreNotLostInTheNetwork) {
    Plan plan = live_plan(1);
    plan.sends[0].heap_size = 200'000;
    const auto incomplete = [](const stats::StreamSnapshot& s) {
        return s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
               s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)];
    };
    Script script;
    const auto receive_more = [&script] {
        script.wait([from = std::uint64_t{0}](const stats::Snapshot& s) mutable {
            from = from == 0 ? s.streams[0].heaps_started : from;
            return s.streams[0].heaps_started > from + 50;
        });
    };
    const auto change = [&](unsigned round) {
        script.change([round](Plan& p) { p.receives[0].lcores = {round % 2 == 0 ? 6U : 5U}; });
        receive_more();
        script.change([round](Plan& p) { p.receives[0].queue_depth = 100 + round; });
        receive_more();
        script.add([](Engine& engine, const stats::Snapshot&) { engine.stop_port("p0"); });
        script.add([](Engine& engine, const stats::Snapshot&) { engine.start_port("p0"); });
        receive_more();
    };
    receive_more();
    change(0);
    change(1);
    // On a machine that is busy, changes may fall between heaps: there are more of them until one cuts a
    // heap.
    constexpr unsigned kMostRounds = 20;
    unsigned rounds = 2;
    Script::Step again = [&](Engine&, const stats::Snapshot& s) {
        if (incomplete(s.streams[0]) != 0 || rounds == kMostRounds)
            return;
        change(rounds++);
        script.add(again);
    };
    script.add(again);
    const Ended e = script.run(plan);
    EXPECT_GT(incomplete(e.stream()), 0U) << "no change has cut a heap";
    std::uint64_t cut = 0;
    for (const stats::Finding& f : stats::findings_of(e.last)) {
        // The first heap may have begun before anybody listened.
        EXPECT_TRUE(f.cause == stats::Cause::cut_by_change || f.cause == stats::Cause::cut_by_join)
            << f.sentence();
        cut += f.count;
    }
    EXPECT_EQ(cut, incomplete(e.stream()));
}

/// Makes a stream whose heaps lie in chunks, and four antennas that send heaps of eight packets to it.
Plan chunk_plan(const std::string& way) {
    Plan plan = live_plan(1);
    SendPlan& d = plan.sends[0];
    d.pattern = HeapPattern::p3;
    d.senders = 4;
    d.heap_size = 65536;
    d.max_packet_size = 8264;
    d.max_heaps = 8;
    d.address_bits = 48;
    d.repeat_items = way == "direct";
    d.rate = 40e6;
    ReceivePlan& r = plan.receives[0];
    r.max_packet_size = 8320;
    r.sink.kind = SinkKind::null;
    r.chunk.emplace().placement =
        "heap 65536; time: item 0x1600 / 2097152 [4]; axis antenna: item 0x4101 [4]; " + way;
    r.chunk->chunks = 8;
    return plan;
}

/// Tests that such heaps of chunks are the change's, too. The chunks themselves go on.
TEST(ChangeCounts, HeapsOfChunksThatAMoveCutsInTwoAreNotLostInTheNetwork) {
    for (const std::string way : {"direct", "tracked", "automatic"}) {
        SCOPED_TRACE(way);
        Script script;
        const auto fill_more = [&script] {
            script.wait([from = std::uint64_t{0}](const stats::Snapshot& s) mutable {
                from = from == 0 ? s.streams[0].chunks.taken + 1 : from;
                return s.streams[0].chunks.taken > from + 6;
            });
        };
        fill_more();
        for (const unsigned lcore : {6U, 5U, 6U, 5U}) {
            script.change([lcore](Plan& p) { p.receives[0].lcores = {lcore}; });
            fill_more();
        }
        const Ended e = script.run(chunk_plan(way));
        const stats::StreamSnapshot& s = e.stream();
        std::uint64_t cut = 0;
        for (const stats::Finding& f : stats::findings_of(e.last)) {
            // The stream finds the tracked way by its first heaps.
            const bool at_start = way == "automatic" && f.cause == stats::Cause::misplaced;
            EXPECT_TRUE(at_start || f.cause == stats::Cause::cut_by_change) << f.sentence();
            cut += f.cause == stats::Cause::cut_by_change ? f.count : 0;
        }
        // Chunks that the end has cut are near a change.
        EXPECT_GE(cut, way == "automatic" ? 0 : s.chunks.heaps_missing);
        EXPECT_LE(cut, s.chunks.heaps_missing + s.chunks.heaps_cut);
        EXPECT_EQ(s.packets[static_cast<std::size_t>(PacketOutcome::late)], 0U);
        const std::uint64_t without_item = s.packets[static_cast<std::size_t>(PacketOutcome::no_item)];
        EXPECT_EQ(without_item != 0, way != "direct") << without_item;
    }
}

}  // namespace
}  // namespace spead::runtime::test
