// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

TEST(PortRules, PlacesForFragmentsAreRefusedWhereNoneArePutTogether) {
    runtime::Plan plan = test::valid_plan();
    plan.ports[0].reassemble_datagrams = 1000;
    EXPECT_THAT(test::usage_error_of([&] { validate(plan); }),
                testing::AllOf(testing::HasSubstr("`reassemble_datagrams` of port"),
                               testing::HasSubstr("is 1000"), testing::HasSubstr("`reassemble = true`")));
    plan.ports[0].reassemble = true;
    EXPECT_NO_THROW(validate(plan));
}

}  // namespace
}  // namespace spead::config
