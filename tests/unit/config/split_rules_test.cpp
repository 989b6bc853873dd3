// SPDX-License-Identifier: BSD-3-Clause
#include "config/split_rules.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config::split_rules_test {
namespace {

using runtime::HeapEngine;
using runtime::Plan;
using testing::AllOf;
using testing::HasSubstr;

/// Returns a plan whose port cuts packets for the engine of its stream.
Plan split_plan() {
    Plan plan = test::valid_plan();
    plan.ports[0].split = 138;
    plan.receives[0].engine = HeapEngine::fake;
    return plan;
}

void expect_fault(const Plan& plan, std::string_view key, const std::string& says) {
    const auto fault = split_fault(plan, plan.ports[0]);
    ASSERT_TRUE(fault) << says;
    EXPECT_EQ(fault->key, key);
    EXPECT_THAT(fault->what, HasSubstr(says));
}

TEST(SplitRules, AskNothingOfPortsThatLeavePacketsWhole) {
    Plan plan = split_plan();
    EXPECT_FALSE(split_fault(plan, plan.ports[0]));
    plan.ports[0].split = 0;
    plan.ports[0].udp_checksum = plan.ports[0].reassemble = true;
    plan.receives[0].engine = HeapEngine::none;
    plan.receives[0].capture.emplace();
    EXPECT_FALSE(split_fault(plan, plan.ports[0]));
}

TEST(SplitRules, WantOneEngineWithMemoryOfADeviceForAllStreams) {
    Plan plan = split_plan();
    plan.receives[0].engine = HeapEngine::none;
    expect_fault(plan, "split", "stream `s0` has no `gather`; give all streams of the port `gather`");
    plan.receives[0].engine = HeapEngine::cpu;
    expect_fault(plan, "split", "`gather` = \"cpu\", which copies on the CPU");
    plan = split_plan();
    plan.receives.push_back(test::receive_plan("s1", "239.1.2.4:7148"));
    expect_fault(plan, "split", "stream `s1` has no `gather`");
    plan.receives[1].engine = HeapEngine::cuda;
    expect_fault(plan, "split", "stream `s1` has `cuda` where another has `fake`");
    plan.receives[1].port = "p1";
    EXPECT_FALSE(split_fault(plan, plan.ports[0])) << "another port's";
}

TEST(SplitRules, LetNothingReadTheData) {
    Plan plan = split_plan();
    plan.ports[0].udp_checksum = true;
    expect_fault(plan, "udp_checksum", "leave out `udp_checksum`");
    plan = split_plan();
    plan.ports[0].reassemble = true;
    expect_fault(plan, "reassemble", "leave out `reassemble`");
    plan = split_plan();
    plan.receives[0].capture.emplace();
    expect_fault(plan, "split", "the capture of stream `s0` would read the data");
}

TEST(SplitRules, LeaveTheHeadersOfAFormatToTheCpu) {
    Plan plan = split_plan();
    plan.receives[0].format = "header 96; field n: u32 at 0; count n";
    EXPECT_FALSE(split_fault(plan, plan.ports[0]));
    plan.receives[0].format = "header 128; field n: u32 at 0; count n";
    expect_fault(plan, "split", "raise `split` (--split) to 170");
    plan.ports[0].vlan = 5;
    expect_fault(plan, "split", "raise `split` (--split) to 174");
    plan.receives[0].format = "nonsense";
    EXPECT_FALSE(split_fault(plan, plan.ports[0])) << "refused with the format itself";
}

TEST(SplitRules, ArePartOfThePlans) {
    Plan plan = split_plan();
    validate(plan);
    plan.ports[0].split = 100;
    EXPECT_THAT(test::refusal([&] { validate(plan); }), AllOf(HasSubstr("split"), HasSubstr("134 to 9216")));
    plan.ports[0].split = 138;
    plan.receives[0].engine = HeapEngine::none;
    EXPECT_THAT(test::refusal([&] { validate(plan); }), HasSubstr("no `gather`"));
}

}  // namespace
}  // namespace spead::config::split_rules_test
