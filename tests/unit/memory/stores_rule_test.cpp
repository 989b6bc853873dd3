// SPDX-License-Identifier: BSD-3-Clause
#include "memory/stores_rule.hpp"

#include <gtest/gtest.h>

namespace spead::memory {
namespace {

constexpr std::size_t kRuleMiB = std::size_t{1} << 20;

TEST(StoresRule, StreamsToMemoryThatTheCacheDoesNotHold) {
    StoresRule rule(8 * kRuleMiB);
    rule.set_all(8 * kRuleMiB, 1);
    EXPECT_EQ(rule.choose(8 * kRuleMiB, Stores::cached), Stores::cached);
    rule.set_all(9 * kRuleMiB, 1);
    EXPECT_EQ(rule.choose(9 * kRuleMiB, Stores::cached), Stores::streaming);
}

TEST(StoresRule, ChangesBackOnlyWhenAQuarterLessIsInRotation) {
    StoresRule rule(8 * kRuleMiB);
    rule.set_all(7 * kRuleMiB, 1);
    EXPECT_EQ(rule.choose(7 * kRuleMiB, Stores::streaming), Stores::streaming);
    EXPECT_EQ(rule.choose(6 * kRuleMiB, Stores::streaming), Stores::cached);
}

TEST(StoresRule, SharesTheCacheAmongStreamsThatExceedItTogether) {
    StoresRule rule(8 * kRuleMiB);
    rule.set_all(4 * 3 * kRuleMiB, 4);
    EXPECT_EQ(rule.choose(3 * kRuleMiB, Stores::cached), Stores::streaming);
    rule.set_all(65 * kRuleMiB, 2);
    EXPECT_EQ(rule.choose(64 * kRuleMiB, Stores::cached), Stores::streaming);
    EXPECT_EQ(rule.choose(1 * kRuleMiB, Stores::cached), Stores::cached);
}

TEST(StoresRule, WithoutALimitNothingIsStreamed) {
    StoresRule rule;
    rule.set_all(std::size_t{1} << 40, 7);
    EXPECT_EQ(rule.choose(std::size_t{1} << 40, Stores::cached), Stores::cached);
    EXPECT_EQ(rule.choose(std::size_t{1} << 40, Stores::streaming), Stores::cached);
}

}  // namespace
}  // namespace spead::memory
