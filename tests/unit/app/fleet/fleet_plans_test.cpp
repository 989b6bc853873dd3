// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_plans.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/app/fleet/hosts.hpp"

namespace spead::app {
namespace {

using spead::test::host;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FleetPlans, NamesWhatIsMissing) {
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), host("b:1", "1/2", 3)}), IsEmpty());
    // A replica replaces no other shard.
    EXPECT_THAT(
        fleet_faults({host("a:1", "0/2", 3), host("b:1", "0/2", 3)}),
        ElementsAre("plan ta: no host has shard 1/2", "plan ta: 3 of its 6 endpoints are received nowhere"));
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), no_look_at({"b:1", "1/2"}, "Timeout")}),
                ElementsAre("no answer: b:1", "plan ta: no host has shard 1/2",
                            "plan ta: 3 of its 6 endpoints are received nowhere"));
    // A replica that has not read the new plan yet, before and after the other one.
    EXPECT_THAT(fleet_faults({host("a:1", "0/1", 3), host("b:1", "0/1", 6)}), IsEmpty());
    EXPECT_THAT(fleet_faults({host("b:1", "0/1", 6), host("a:1", "0/1", 3)}), IsEmpty());
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), host("b:1", "1/3", 2)}),
                ElementsAre("plan ta: hosts count its shards differently: 0/2, 1/3"));
}

TEST(FleetPlans, TakesCountsOfShardsThatNoProgramHas) {
    for (const char* shard : {"", "/", "0/", "x/y", "0/99999", "0/99999999999999999999", "1/0"})
        EXPECT_LE(fleet_faults({host("a:1", shard, 6)}).size(), 1U) << shard;
}

}  // namespace
}  // namespace spead::app
