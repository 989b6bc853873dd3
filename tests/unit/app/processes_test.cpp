// SPDX-License-Identifier: BSD-3-Clause
#include "app/processes.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/base/usage_error.hpp"

namespace spead::app {
namespace {

const std::vector<RunningProcess> kThree{{"capture1", 10, "/run/dpdk/capture1.10/dpdk_telemetry.v2"},
                                         {"capture1", 20, "/run/dpdk/capture1.20/dpdk_telemetry.v2"},
                                         {"dsim", 30, "/run/dpdk/dsim.30/dpdk_telemetry.v2"}};

TEST(ChooseProcess, ByNameOrPid) {
    EXPECT_EQ(choose_process("dsim", kThree), kThree[2]);
    EXPECT_EQ(choose_process("20", kThree), kThree[1]);
    EXPECT_EQ(choose_process("capture1.10", kThree), kThree[0]);
}

TEST(ChooseProcess, TheOnlyOneNeedsNoName) {
    EXPECT_EQ(choose_process("", {kThree[2]}), kThree[2]);
}

TEST(ChooseProcess, SeveralAreListed) {
    test::expect_passing_error([] { choose_process("", kThree); },
                               {"3 processes run", "capture1 (pid 10)", "dsim (pid 30)"});
    test::expect_passing_error(
        [] { choose_process("capture1", kThree); },
        {"2 processes are called `capture1`", "(pid 10)", "(pid 20)", "give one's pid"});
}

TEST(ChooseProcess, NoneIsSaid) {
    test::expect_passing_error([] { choose_process("", {}); }, {"no dpdk-spead that can be reached runs"});
    test::expect_passing_error([] { choose_process("x", {}); }, {"none called `x`"});
    test::expect_passing_error([] { choose_process("dsin", kThree); },
                               {"did you mean `dsim`", "capture1 (pid 10)"});
    test::expect_passing_error([] { choose_process("/nowhere/socket", kThree); }, {"/nowhere/socket"});
}

TEST(FindProcesses, DirectoriesThatAreNotThereHaveNone) {
    const std::vector<std::string> nowhere{"/nowhere", "/proc/self/maps"};
    EXPECT_TRUE(find_processes(nowhere).empty());
}

}  // namespace
}  // namespace spead::app
