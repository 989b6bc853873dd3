// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "tests/eal/runtime/live_rig.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

/// Tests whole runs of streams whose payload engines move.
namespace spead::runtime::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

void expect_all_verified(const Ended& e, std::uint64_t heaps) {
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.sent().counters.heaps, heaps);
    EXPECT_EQ(e.complete(), heaps);
    EXPECT_EQ(e.stream().heaps_verified, heaps);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_EQ(e.stream().heaps_device_error, 0U);
}

TEST(GatherEngines, MoveEveryHeapOfARun) {
    for (const HeapEngine engine : {HeapEngine::cpu, HeapEngine::fake}) {
        Plan plan = loopback(300);
        plan.receives[0].engine = engine;
        plan.receives[0].engine_memory = 16 * kMiB;
        expect_all_verified(run(plan), 300);
    }
}

TEST(GatherEngines, FillChunksWhoseSinkGetsThemFetched) {
    ASSERT_NE(dlopen(gpu::fake_library().c_str(), RTLD_NOW), nullptr) << "the program finds it by its name";
    for (const HeapEngine engine : {HeapEngine::cpu, HeapEngine::fake, HeapEngine::cuda})
        for (const char* const way : {"automatic", "tracked"}) {
            Plan plan = loopback(300);
            plan.receives[0].engine = engine;
            plan.receives[0].chunk.emplace().placement = std::string("heap 20000; time: heap [8]; ") + way;
            const Ended e = run(plan);
            EXPECT_THAT(e.problems, IsEmpty());
            EXPECT_EQ(e.stream().heaps_verified, 299U) << "the first has descriptors, and another length";
            EXPECT_EQ(e.stream().heaps_wrong, 0U);
            EXPECT_EQ(e.stream().chunks.device_error, 0U);
            EXPECT_EQ(e.stream().chunks.delivered, e.stream().chunks.opened);
        }
}

TEST(GatherEngines, OfAGpuThatFailsLoseChunksAndCountThem) {
    ASSERT_NE(dlopen(gpu::fake_library().c_str(), RTLD_NOW), nullptr);
    const gpu::FakeWish wish("FAKE_CUDA_FAIL", "cuStreamWriteValue32_v2:9");
    Plan plan = loopback(300);
    plan.receives[0].engine = HeapEngine::cuda;
    plan.receives[0].chunk.emplace().placement = "heap 20000; time: heap [8]";
    const Ended e = run(plan);
    EXPECT_THAT(e.problems, testing::Contains(HasSubstr("cuStreamWriteValue32_v2(")));
    EXPECT_GT(e.stream().chunks.device_error, 0U);
    EXPECT_EQ(e.stream().heaps_wrong, 0U);
    EXPECT_THAT(stats::broken_identities(e.last), IsEmpty());
}

TEST(GatherEngines, ThatComeDuringTheRunHaveAPartOfTheQueuesBuffers) {
    Plan plan = live_plan(1);
    Script script;
    const auto delivers = [](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 3; };
    script.wait(delivers);
    script.change([](Plan& p) {
        p.receives[0].engine = HeapEngine::fake;
        p.receives[0].engine_memory = 16 * kMiB;
    });
    std::uint64_t before = 0;
    script.add([&](Engine&, const stats::Snapshot& s) { before = s.streams[0].heaps_verified; });
    script.wait([&](const stats::Snapshot& s) { return s.streams[0].heaps_verified > before + 50; });
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.last.streams[0].heaps_wrong, 0U);
    EXPECT_EQ(e.last.streams[0].heaps_device_error, 0U);
}

TEST(GatherEngines, LoseNothingOfASourceThatWaits) {
    // Fewer heaps fit than the engine could have.
    Plan plan = loopback(300);
    plan.receives[0].engine = HeapEngine::fake;
    plan.receives[0].max_bytes = plan.receives[0].engine_memory = kMiB;
    plan.receives[0].max_live = plan.sends[0].max_heaps = 1;
    plan.receives[0].engine_memory = 2 * kMiB;
    plan.receives[0].queue_depth = 1;
    expect_all_verified(run(plan), 300);
}

TEST(GatherEngines, OfAGpuTakeNewStreamsAndKeepTheirSenders) {
    ASSERT_NE(dlopen(gpu::fake_library().c_str(), RTLD_NOW), nullptr) << "the program finds it by its name";
    Plan plan = live_plan(1);
    plan.receives[0].engine = HeapEngine::cuda;
    plan.receives[0].engine_memory = 16 * kMiB;
    const ReceivePlan second = [&] {
        ReceivePlan r = plan.receives[0];
        r.name = "s1";
        set_endpoints(r, {"239.1.0.9:7148"});
        return r;
    }();
    Script script;
    const auto delivers = [](const stats::Snapshot& s) { return s.streams[0].heaps_verified > 3; };
    script.wait(delivers);
    script.add([](Engine& engine, const stats::Snapshot&) {
        Plan other = engine.plan();
        other.sends.clear();
        EXPECT_THAT(error_of([&] { engine.reconfigure(other); }), HasSubstr("senders cannot change"));
    });
    script.change([&](Plan& p) { p.receives.push_back(second); });
    script.change([](Plan& p) { p.receives.erase(p.receives.begin()); });
    script.change([](Plan& p) { set_endpoints(p.receives[0], {"239.1.0.0:7148"}); });
    script.wait(delivers);
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_EQ(e.last.streams[0].heaps_wrong, 0U);
    EXPECT_EQ(e.last.streams[0].heaps_device_error, 0U);
}

TEST(GatherEngines, OfAGpuLetSendersComeAndGoWhosePacketsDoNotComeBack) {
    ASSERT_NE(dlopen(gpu::fake_library().c_str(), RTLD_NOW), nullptr) << "the program finds it by its name";
    Plan plan = live_plan(1);
    plan.ports = {{"p0", "net_null0,no-rx=1", 0}};
    plan.receives[0].engine = HeapEngine::cuda;
    plan.receives[0].engine_memory = 16 * kMiB;
    const SendPlan sender = plan.sends[0];
    Script script;
    const auto sends = [](const stats::Snapshot& s) {
        return !s.sends.empty() && s.sends.back().counters.heaps > 3;
    };
    script.wait(sends);
    script.change([](Plan& p) { p.sends.clear(); });
    script.change([&](Plan& p) {
        p.sends.push_back(sender);
        p.sends.back().name = "d1";
    });
    script.wait(sends);
    const Ended e = script.run(plan);
    EXPECT_THAT(e.problems, IsEmpty());
}

}  // namespace
}  // namespace spead::runtime::test
