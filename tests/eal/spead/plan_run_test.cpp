// SPDX-License-Identifier: BSD-3-Clause
#include "spead/plan_run.hpp"

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <rte_memory.h>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "stats/snapshot.hpp"
#include "tests/eal/spead/send_rig.hpp"

namespace spead::door {
namespace {

using test::refusal;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr const char* kGroup = "239.1.2.3:7148";

/// Makes a plan that comes from no file: a ring brings back the packets that are sent on it.
runtime::Plan loopback(std::int64_t heaps, std::size_t spare_eal = 0) {
    runtime::Plan plan;
    plan.memory.heaps = 16 * kMiB;
    plan.memory.spare_eal = spare_eal;
    plan.ports = {{"p0", "net_ring0", 0}};
    runtime::ReceivePlan& r = plan.receives.emplace_back();
    r.name = "s0";
    r.port = "p0";
    r.endpoints = parse_endpoints(kGroup);
    r.endpoint_texts = {kGroup};
    r.max_bytes = kMiB;
    r.buffer_size = kMiB;
    r.sink.kind = runtime::SinkKind::verify;
    runtime::SendPlan& s = plan.sends.emplace_back();
    s.name = "d0";
    s.port = "p0";
    s.endpoints = r.endpoints;
    s.endpoint_texts = {kGroup};
    s.heap_size = 20'000;
    s.heaps = heaps;
    s.verify = true;
    return plan;
}

// In this order, in one process: EAL starts once, and its main lcore is this thread.

EalStart& eal() {
    static EalStart start(runtime::EalOptions::parse({}));
    return start;
}

TEST(PlanRun, LaysPlansOutBeforeEalStarts) {
    EXPECT_NE(refusal([] { PlanRun(loopback(1, std::size_t{1} << 60), eal()); }), "");
    const PlanRun small(loopback(1), eal());
    PlanRun large(loopback(1, 64 * kMiB), eal());
    const PlanRun as_small(loopback(1), eal());
    EXPECT_EQ(small.layout().eal_bytes, as_small.layout().eal_bytes);
    EXPECT_GT(large.layout().eal_bytes, small.layout().eal_bytes);
    EXPECT_FALSE(runtime::Eal::runs());

    large.start_eal();
    EXPECT_TRUE(runtime::Eal::runs());
    EXPECT_GE(rte_eal_get_physmem_size(), large.layout().eal_bytes) << "the largest plan has room";
    large.start_eal();
    EalStart another(runtime::EalOptions::parse({}));
    another.prepare({.memory = {{0, kMiB}}, .lcores = "0@0", .name = "test", .bus = {}});
    EXPECT_THAT(refusal([&] { another.start(); }), HasSubstr("only once"));
}

TEST(PlanRun, RunsOnTheThreadThatCallsWhileOthersAsk) {
    const int stop = eventfd(0, EFD_CLOEXEC);
    runtime::Plan plan = loopback(-1);
    plan.sends.front().rate = 50e6;
    PlanRun run(plan, eal());
    run.start_eal();
    run.open({});
    EXPECT_EQ(run.engine().plan().sends.size(), 1U);
    run.engine().start();
    const std::thread::id main = std::this_thread::get_id();
    std::thread other([&] {
        while (run.on_engine([](auto& engine) { return engine.snapshot(); }).streams.front().received == 0)
            std::this_thread::yield();
        EXPECT_EQ(run.on_engine([](auto&) { return std::this_thread::get_id(); }), main);
        eventfd_write(stop, 1);
    });
    EXPECT_EQ(run.run(stop, {}), runtime::EndReason::interrupted);
    other.join();
    std::string refused;
    std::thread late([&] { refused = refusal([&] { run.on_engine([](auto&) {}); }); });
    late.join();
    EXPECT_THAT(refused, HasSubstr("is ending")) << "and nobody waits";
    run.engine().stop();
    EXPECT_THAT(run.engine().problems(), IsEmpty());
    run.end();
    run.end();
    close(stop);
}

TEST(PlanRun, RunsPlansInTurnEachAsOftenAsOneLikes) {
    PlanRun few(loopback(10), eal());
    PlanRun many(loopback(500), eal());
    for (PlanRun* const run : {&few, &many, &few}) {
        run->start_eal();
        run->open({});
        run->engine().start();
        EXPECT_EQ(run->run(-1, {}), runtime::EndReason::sent);
        run->engine().stop();
        const stats::Snapshot last = run->engine().snapshot();
        EXPECT_EQ(last.sends.front().counters.heaps, run == &few ? 10U : 500U);
        EXPECT_THAT(stats::broken_identities(last), IsEmpty());
        run->end();
    }
}

TEST(PlanRun, LetsNobodyWaitForARunThatThrows) {
    PlanRun run(loopback(-1), eal());
    run.start_eal();
    run.open({});
    run.engine().start();
    EXPECT_THROW(run.run(-1, [](const stats::Snapshot&) { throw Error("tick", "fails"); }), Error);
    std::thread other([&] { EXPECT_THROW(run.on_engine([](auto&) {}), Error); });
    other.join();
}

}  // namespace
}  // namespace spead::door
