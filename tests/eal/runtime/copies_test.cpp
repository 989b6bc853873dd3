// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "tests/eal/runtime/live_rig.hpp"

/// Tests how the payload of streams that begin during a run is copied.
namespace spead::runtime::test {
namespace {

bool is_streaming(const stats::Snapshot& s, std::string_view name) {
    return snapshot_of(s, name).streaming_now == 1;
}

/// Returns hooks whose rule leaves no cache to heaps. `sharing` gets the lcores of each rule.
EngineHooks without_cache(std::vector<std::size_t>& sharing) {
    EngineHooks hooks;
    hooks.make_stores = [&sharing](unsigned, const std::vector<unsigned>& lcores) {
        sharing.push_back(lcores.size());
        return memory::StoresRule(0);
    };
    return hooks;
}

TEST(Copies, OfStreamsThatBeginDuringTheRunAreChosen) {
    std::vector<std::size_t> sharing;
    Plan plan = live_plan(2);
    plan.receives[0].enabled = false;
    const ReceivePlan later = plan.receives.back();
    plan.receives.pop_back();
    Script script;
    script.add([&](Engine&, const stats::Snapshot&) { EXPECT_TRUE(sharing.empty()) << "nobody copies"; });
    script.change([](Plan& p) { p.receives[0].enabled = true; });
    script.wait([](const stats::Snapshot& s) { return is_streaming(s, "s0"); });
    script.change([&later](Plan& p) {
        p.receives.push_back(later);
        p.receives.back().lcores = {6};
    });
    script.wait([](const stats::Snapshot& s) { return is_streaming(s, "s1"); });
    script.add([&](Engine&, const stats::Snapshot&) {
        ASSERT_FALSE(sharing.empty());
        EXPECT_EQ(sharing.back(), 2U) << "lcores share the cache";
    });
    // To the lcore of the other: the first one copies nothing any more.
    script.change([](Plan& p) { p.receives[0].lcores = {6}; });
    script.wait([](const stats::Snapshot& s) { return is_streaming(s, "s0"); });
    script.add([&](Engine&, const stats::Snapshot&) { EXPECT_EQ(sharing.back(), 1U); });
    script.run(plan, without_cache(sharing));
}

TEST(Copies, OfStreamsThatHaveStoppedAreNotCounted) {
    std::vector<std::size_t> sharing;
    Script script;
    for (int i = 0; i < 3; i++) {
        script.wait([](const stats::Snapshot& s) { return snapshot_of(s, "s0").streaming_now != 0; });
        script.add([](Engine&, const stats::Snapshot& s) {
            EXPECT_EQ(snapshot_of(s, "s0").streaming_now, 1U) << "it has one lcore";
        });
        script.change([](Plan& p) { p.receives[0].enabled = false; });
        script.wait([](const stats::Snapshot& s) { return snapshot_of(s, "s0").streaming_now == 0; });
        script.change([](Plan& p) { p.receives[0].enabled = true; });
    }
    script.run(live_plan(1), without_cache(sharing));
}

}  // namespace
}  // namespace spead::runtime::test
