// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/eal/runtime/live_rig.hpp"

/// Tests whole runs of streams whose payload engines move.
namespace spead::runtime::test {
namespace {

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

}  // namespace
}  // namespace spead::runtime::test
