// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <deque>
#include <gmock/gmock.h>
#include <string_view>

#include "base/error.hpp"
#include "tests/eal/runtime/rig.hpp"

/// Changes a run while packets come, over a ring, which loses nothing by itself.
namespace spead::runtime::test {

/// Makes streams s0, s1... of one group each on lcore 5. A sender to all of them and to `more` groups is on
/// lcore 6, which has room for streams, too.
inline Plan live_plan(std::size_t streams, unsigned more = 0) {
    Plan plan;
    plan.runtime.live = true;
    plan.runtime.lcores = {5, 6};
    plan.memory.heaps = 64 * kMiB;
    plan.ports = {{"p0", "net_ring0", 0}};
    for (std::size_t i = 0; i < streams; i++) {
        plan.receives.push_back(receive(fmt::format("s{}", i), fmt::format("239.1.0.{}:7148", i)));
        plan.receives.back().lcores = {5};
    }
    plan.sends = {send("d0", fmt::format("239.1.0.0+{}:7148", streams + more - 1), -1)};
    plan.sends[0].lcore = 6;
    return plan;
}

inline ReceivePlan& stream(Plan& plan, const std::string& name) {
    return *std::find_if(plan.receives.begin(), plan.receives.end(),
                         [&name](const ReceivePlan& r) { return r.name == name; });
}

inline void set_endpoints(ReceivePlan& r, const std::vector<std::string>& texts) {
    r.endpoint_texts = texts;
    r.endpoints.clear();
    for (const std::string& text : texts)
        for (const Endpoint& e : parse_endpoints(text))
            r.endpoints.push_back(e);
}

/// Carries out steps during a run, one after the other, each in a tick of its own.
struct Script {
    using Step = std::function<void(Engine&, const stats::Snapshot&)>;
    std::deque<Step> steps;

    Ended run(const Plan& plan, const EngineHooks& hooks = {}) {
        Ended e;
        Engine engine(plan, layout_on_cpus(plan), hooks);
        engine.stay();
        engine.start();
        e.reason = engine.run(-1, [&](const stats::Snapshot& s) {
            expect_identities(s);
            for (const stats::StreamSnapshot& one : s.streams)
                EXPECT_LE(one.heaps_verified + one.heaps_wrong, one.heaps_delivered) << one.name;
            if (steps.empty()) {
                engine.interrupt();
                return;
            }
            const Step step = steps.front();
            steps.pop_front();
            step(engine, s);
            expect_identities(engine.snapshot());
        });
        EXPECT_THAT(steps, testing::IsEmpty()) << "the run ended early: " << name_of(e.reason);
        engine.stop();
        e.last = engine.snapshot();
        e.problems = engine.problems();
        expect_identities(e.last);
        return e;
    }
    void add(Step step) { steps.push_back(std::move(step)); }
    void change(std::function<void(Plan&)> edit) {
        add([edit = std::move(edit)](Engine& engine, const stats::Snapshot&) {
            Plan plan = engine.plan();
            edit(plan);
            engine.reconfigure(plan);
            EXPECT_EQ(engine.plan(), plan);
        });
    }
    /// Waits for the condition: one look per tick.
    void wait(std::function<bool(const stats::Snapshot&)> condition) {
        add([this, condition](Engine&, const stats::Snapshot& s) {
            if (!condition(s))
                wait_first(condition);
        });
    }

  private:
    void wait_first(const std::function<bool(const stats::Snapshot&)>& condition) {
        steps.emplace_front([this, condition](Engine&, const stats::Snapshot& s) {
            if (!condition(s))
                wait_first(condition);
        });
    }
};

inline const stats::StreamSnapshot& snapshot_of(const stats::Snapshot& s, std::string_view name) {
    return *std::find_if(s.streams.begin(), s.streams.end(),
                         [&name](const auto& one) { return one.name == name; });
}

/// Checks that every packet sent to the stream has come, and that every heap is whole and right.
inline void expect_nothing_lost(const stats::StreamSnapshot& s) {
    SCOPED_TRACE(s.name);
    EXPECT_GT(s.heaps_delivered, 0U);
    EXPECT_EQ(s.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], s.heaps_started);
    EXPECT_EQ(s.heaps_verified, s.heaps_delivered);
    EXPECT_EQ(s.heaps_wrong, 0U);
    EXPECT_EQ(s.heaps_dropped_full, 0U);
    EXPECT_EQ(s.packets[static_cast<std::size_t>(PacketOutcome::placed)] +
                  s.packets[static_cast<std::size_t>(PacketOutcome::control)],
              s.received);
}

}  // namespace spead::runtime::test
