// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/gather_engines.hpp"

#include <gtest/gtest.h>

#include "runtime/layout.hpp"
#include "runtime/layout_ports.hpp"

namespace spead::runtime {
namespace {

constexpr std::uint32_t kNoLimit = ~std::uint32_t{0};

port::PlannedPort port_with(std::uint32_t gathered, std::uint16_t descriptors, const char* name = "p0") {
    port::PlannedPort p;
    p.request.name = name;
    p.request.gathered_mbufs = gathered;
    p.device.rx.descriptors = descriptors;
    return p;
}

/// Returns the mbufs for engines of a port with such streams: each an engine, and the CPUs that it names.
std::uint32_t mbufs_for(const std::vector<std::pair<HeapEngine, std::vector<unsigned>>>& streams) {
    Plan plan;
    for (const auto& [engine, lcores] : streams) {
        ReceivePlan& r = plan.receives.emplace_back();
        r.port = "p0";
        r.engine = engine;
        r.lcores = lcores;
    }
    plan.receives.emplace_back().port = "p1";
    plan.receives.back().engine = HeapEngine::fake;
    return gathered_mbufs(plan, "p0", {4, 5});
}

TEST(GatherEngines, HaveMbufsForTheBatchesOfEachLcore) {
    constexpr auto none = HeapEngine::none;
    constexpr auto cpu = HeapEngine::cpu;
    EXPECT_EQ(mbufs_for({{none, {}}, {none, {4, 5}}}), 0U);
    EXPECT_EQ(mbufs_for({{cpu, {}}}), kGatheredPackets);
    EXPECT_EQ(mbufs_for({{cpu, {}}, {cpu, {}}, {cpu, {4}}}), kGatheredPackets) << "they share its batches";
    EXPECT_EQ(mbufs_for({{cpu, {4}}, {HeapEngine::fake, {4}}}), 2 * kGatheredPackets);
    EXPECT_EQ(mbufs_for({{cpu, {4, 5}}, {cpu, {5}}}), 2 * kGatheredPackets);
}

TEST(GatherEngines, TakeTheMbufsThatThePortHasForThem) {
    GatherEngines engines;
    const port::PlannedPort port = port_with(kGatheredPackets, 2048);
    const auto first = engines.gathering(HeapEngine::cpu, 1, port);
    EXPECT_EQ(first->most(), kNoLimit) << "its batches limit it";
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 1, port), first);
    EXPECT_EQ(first->most(), kNoLimit) << "another stream of the lcore shares them";
}

TEST(GatherEngines, BorrowAPartOfTheQueuesMbufsWhereThePortHasNone) {
    GatherEngines engines;
    // A live change has given a stream its engine.
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 1, port_with(0, 2048))->most(), 512U);
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 2, port_with(0, 256, "p1"))->most(),
              2 * recv::Gathering::kBurst);
    // The lcore's streams of both ports share its batches.
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 3, port_with(kGatheredPackets, 2048, "p2"))->most(),
              kNoLimit);
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 3, port_with(0, 2048))->most(), 512U);
}

TEST(GatherEngines, GiveTheMbufsOfLcoresThatHaveNoStreamAnyMoreToOthers) {
    GatherEngines engines;
    const port::PlannedPort port = port_with(kGatheredPackets, 1024);
    auto first = engines.gathering(HeapEngine::cpu, 1, port);
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 2, port)->most(), 256U) << "the other lcore has all of them";
    first.reset();
    EXPECT_EQ(engines.gathering(HeapEngine::cpu, 3, port)->most(), kNoLimit);
}

}  // namespace
}  // namespace spead::runtime
