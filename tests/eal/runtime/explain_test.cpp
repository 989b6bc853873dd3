// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <thread>

#include "runtime/stream_health.hpp"
#include "stats/diagnosis.hpp"
#include "tests/eal/runtime/rig.hpp"

/// Counters that explain, on running engines: exact in every snapshot, and of the right thing.
namespace spead::runtime::test {
namespace {

using testing::HasSubstr;

/// Asks the main thread for snapshots from another one, as the prompt does: many times, while packets come.
TEST(Explain, EveryIdentityHoldsInEverySnapshotThatAnotherThreadAsksForUnderLoad) {
    Plan plan = loopback(-1, "239.1.2.3+3:7148");
    plan.receives = {receive("s0", "239.1.2.3+1:7148"), receive("s1", "239.1.2.5+1:7148")};
    plan.sends[0].heap_size = 9000;
    for (const bool blocks : {true, false}) {
        for (ReceivePlan& r : plan.receives) {
            r.on_full = blocks ? OnFullSetting::block : OnFullSetting::drop_oldest;
            r.queue_depth = blocks ? 64 : 2;
        }
        const Layout layout = layout_on_two_lcores(plan);
        Engine engine(plan, layout);
        engine.start();
        std::atomic<int> wanted{0};
        std::atomic<int> given{0};
        std::atomic<bool> over{false};
        std::thread asker([&] {
            // A new one is asked for as soon as the last was given.
            for (int i = 1; !over; i++) {
                wanted.store(i);
                while (given.load() < i && !over)
                    std::this_thread::yield();
            }
        });
        std::uint64_t before = 0;
        for (int moved = 0; moved < 60;) {
            // As Engine::run does for what is posted to it.
            if (given.load() == wanted.load()) {
                std::this_thread::yield();
                continue;
            }
            const stats::Snapshot s = engine.snapshot();
            EXPECT_TRUE(s.detailed);
            expect_identities(s);
            for (const stats::StreamSnapshot& stream : s.streams) {
                EXPECT_EQ(stream.by_endpoint.size(), 2U);
                EXPECT_LE(stream.queue_most, stream.queue_capacity);
            }
            moved += s.ports[0].rx_packets != before;
            before = s.ports[0].rx_packets;
            if (moved % 10 == 9)
                engine.clear();
            given.store(wanted.load());
        }
        over = true;
        asker.join();
        const Interrupt interrupt;
        interrupt.now();
        engine.run(interrupt.fd(), {});
        engine.stop();
        expect_identities(engine.snapshot());
        expect_identities(engine.totals());
        EXPECT_TRUE(engine.problems().empty()) << engine.problems().front();
        EXPECT_GT(engine.totals().streams[0].heaps_handed_over, 0U);
    }
}

TEST(Explain, ARunThatIsOverHasTimesEndpointsAndSenders) {
    Plan plan = loopback(60, "239.1.2.3+2:7148");
    const Ended e = run(plan);
    const stats::StreamSnapshot& s = e.stream();
    EXPECT_EQ(s.latency.count, 60U);
    EXPECT_GT(s.latency.max_s, 0.0);
    EXPECT_GE(s.latency.max_s, s.latency.min_s);
    EXPECT_EQ(s.gap.count, 59U) << "one less than heaps began";
    ASSERT_EQ(s.by_endpoint.size(), 3U);
    for (const stats::EndpointSnapshot& endpoint : s.by_endpoint) {
        EXPECT_GT(endpoint.packets, 0U) << endpoint.name;
        EXPECT_EQ(endpoint.bytes, s.bytes / 3) << endpoint.name;
    }
    EXPECT_EQ(s.by_endpoint[1].name, "239.1.2.4:7148");
    EXPECT_GT(s.queue_most, 0U);
    EXPECT_LE(s.queue_most, s.queue_capacity);
    EXPECT_GT(s.pool_most, 0U);
    const stats::PortSnapshot& p = e.last.ports[0];
    ASSERT_EQ(p.talkers.size(), 1U) << "one sender, to one stream";
    EXPECT_EQ(p.talkers[0].stream, "s0");
    EXPECT_EQ(p.talkers[0].packets + p.talkers_unattributed, p.rx_packets);
    ASSERT_EQ(e.last.lcores.size(), 1U);
    EXPECT_GT(e.last.lcores[0].counters.busy_cycles, 0U);
    EXPECT_GT(e.last.lcores[0].counters.longest_loop, 0U);
    EXPECT_TRUE(stats::diagnose(e.last).empty());
}

TEST(Explain, ClearBeginsAnewAndTheTotalsStay) {
    Plan plan = loopback(200);
    plan.sends[0].rate = 8e6;  // half a second
    Engine engine(plan, layout_of(plan));
    engine.start();
    std::uint64_t before = 0;
    engine.run(-1, [&](const stats::Snapshot& s) {
        if (before != 0 || s.streams[0].heaps_delivered == 0)
            return;
        before = s.streams[0].received;
        engine.clear();
        const stats::Snapshot now = engine.snapshot();
        expect_identities(now);
        EXPECT_GT(now.cleared_s, 0.0);
    });
    engine.stop();
    const stats::Snapshot last = engine.snapshot();
    const stats::Snapshot all = engine.totals();
    expect_identities(last);
    EXPECT_EQ(all.streams[0].heaps_delivered, 200U);
    ASSERT_GT(before, 0U);
    EXPECT_LE(last.streams[0].received, all.streams[0].received - before);
    EXPECT_LT(last.streams[0].latency.count, 200U);
}

/// Consumes so slowly that a ring of two places is always full.
class SinkThatWaits : public Sink {
  public:
    void consume(const heap::HeapHandle&) override {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
};

TEST(Explain, ASlowConsumerIsNamedWithItsQueue) {
    Plan plan = loopback(200);
    plan.receives[0].on_full = OnFullSetting::drop_newest;
    plan.receives[0].queue_depth = 2;
    EngineHooks hooks;
    hooks.make_sink = [](const SinkPlan&, const std::string&) { return std::make_unique<SinkThatWaits>(); };
    const Ended e = run(plan, layout_of(plan), -1, {}, hooks);
    ASSERT_GT(e.stream().heaps_dropped_full, 0U);
    const auto found = stats::diagnose(e.last);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, stats::Cause::consumer_too_slow);
    EXPECT_EQ(found[0].count, e.stream().heaps_dropped_full);
    EXPECT_THAT(found[0].sentence(), HasSubstr("2 of 2 places"));
}

TEST(Explain, AWrongGroupIsNamedWithWhoSendsToIt) {
    Plan plan = loopback(20);
    plan.sends[0] = send("d0", "239.1.2.4:7148", 20);
    const Ended e = run(plan);
    EXPECT_EQ(e.stream().received, 0U);
    const auto found = stats::diagnose(e.last);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, stats::Cause::unmatched);
    EXPECT_EQ(found[0].count, e.last.ports[0].rx_packets);
    EXPECT_THAT(found[0].sentence(), HasSubstr("s0 received nothing"));
    EXPECT_THAT(found[0].sentence(), HasSubstr("from " + e.last.ports[0].talkers.at(0).source));
}

TEST(Explain, ASilentStreamIsToldOnceByCallbackAndSnapshot) {
    Plan plan = loopback(2);
    plan.receives[0].silent_after = 0.2;
    plan.receives.push_back(receive("s1", "239.9.9.9:7148"));
    plan.receives[1].silent_after = 0.05;
    plan.sends[0].rate = 50'000;  // 40 kB in 0.8 s
    plan.sends[0].burst_size = 1000;
    std::vector<std::string> told;
    EngineHooks hooks;
    hooks.on_event = [&](const std::string& stream, const stats::LastEvent& event) {
        told.push_back(stream + " " + std::string(stats::name_of(event.kind)));
    };
    const Ended e = run(plan, layout_of(plan), -1, {}, hooks);
    EXPECT_THAT(told, testing::Contains("s1 silent").Times(1));
    EXPECT_EQ(e.stream(1).health, "silent");
    EXPECT_EQ(e.stream(1).events[static_cast<std::size_t>(stats::StreamEvent::silent)], 1U);
    ASSERT_TRUE(e.stream(1).last_event);
    EXPECT_EQ(e.stream(1).last_event->kind, stats::StreamEvent::silent);
}

/// Sends over a ring whose reader waits for its consumer.
TEST(Explain, ASenderWhosePortTakesNothingIsToldWhileItLastsAndWhenItIsOver) {
    std::atomic<bool> open{false};
    class Gate : public VerifySink {
      public:
        Gate(const std::string& stream, const std::atomic<bool>& is_open)
            : VerifySink(stream), open_(is_open) {}
        void consume(const heap::HeapHandle& heap) override {
            while (!open_.load())
                std::this_thread::yield();
            VerifySink::consume(heap);
        }

      private:
        const std::atomic<bool>& open_;
    };
    Plan plan = loopback(-1);
    plan.receives[0].queue_depth = 1;
    std::vector<std::string> told;
    EngineHooks hooks;
    hooks.make_sink = [&open](const SinkPlan&, const std::string& stream) {
        return std::make_unique<Gate>(stream, open);
    };
    hooks.on_event = [&](const std::string& name, const stats::LastEvent& event) {
        told.push_back(sentence_of(name, event));
    };
    Engine engine(plan, layout_of(plan), hooks);
    engine.start();
    engine.run(-1, [&](const stats::Snapshot& s) {
        if (s.sends[0].health == "stuck")
            open = true;
        else if (s.sends[0].events[1] != 0)
            engine.interrupt();
    });
    open = true;
    engine.stop();
    ASSERT_GE(told.size(), 2U);
    EXPECT_THAT(
        told[0],
        HasSubstr("send d0 is stuck: port p0 has taken nothing for a second; its ring is not emptied"));
    EXPECT_THAT(told[1], HasSubstr("send d0: port p0 takes packets again, after"));
    const stats::Snapshot last = engine.snapshot();
    const std::vector<stats::Finding> found = stats::diagnose(last);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].cause, stats::Cause::port_takes_nothing);
    EXPECT_EQ(found[0].count, last.sends[0].counters.outages);
    EXPECT_THAT(found[0].sentence(), HasSubstr("its ring is not emptied"));
}

TEST(Explain, EventsStayCountedWhateverIsExpectedOfTheStream) {
    Plan plan = loopback(-1);
    plan.runtime.live = true;
    plan.sends[0].rate = 1e6;
    plan.receives.push_back(receive("quiet", "239.9.9.9:7148"));
    plan.receives[1].silent_after = 0.02;
    const auto silences = [](const stats::StreamSnapshot& s) {
        return s.events[static_cast<std::size_t>(stats::StreamEvent::silent)];
    };
    Engine engine(plan, layout_of(plan));
    engine.start();
    int step = 0;
    engine.run(-1, [&](const stats::Snapshot& s) {
        for (const stats::StreamSnapshot& one : s.streams)
            EXPECT_LE(one.heaps_verified + one.heaps_wrong, one.heaps_delivered) << one.name;
        Plan wanted = engine.plan();
        const stats::StreamSnapshot* const quiet = s.streams.size() > 1 ? &s.streams[1] : nullptr;
        if (step == 0 && silences(*quiet) == 1)
            wanted.receives[1].silent_after = 0.03;
        else if (step == 1 && silences(*quiet) == 2)
            wanted.receives[1].enabled = false;
        else if (step == 2 && quiet->state == "stopped" && quiet->health.empty() && silences(*quiet) == 2)
            wanted.receives[1].enabled = true;
        else if (step == 3 && silences(*quiet) == 3)
            wanted.receives.pop_back();
        else if (step == 4 && silences(s.removed) == 3)
            return engine.interrupt();
        else
            return;
        step++;
        engine.reconfigure(wanted);
    });
    engine.stop();
    const stats::Snapshot last = engine.snapshot();
    EXPECT_THAT(engine.problems(), testing::IsEmpty());
    EXPECT_EQ(silences(last.removed), 3U);
    EXPECT_EQ(silences(last.streams[0]), 0U);
}

}  // namespace
}  // namespace spead::runtime::test
