// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_ports.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CheckReassembly, RefusesSeveralLcoresWhereFragmentsHaveToMeet) {
    PortPlan port;
    port.name = "p0";
    check_reassembly(port, {1, 2});
    port.reassemble = true;
    check_reassembly(port, {});
    check_reassembly(port, {1});
    EXPECT_THAT(spead::test::refusal([&] {
                    check_reassembly(port, {1, 2});
                }),
                AllOf(HasSubstr("port p0"), HasSubstr("`reassemble`"), HasSubstr("CPUs 1, 2"),
                      HasSubstr("`lcores`")));
}

}  // namespace
}  // namespace spead::runtime
