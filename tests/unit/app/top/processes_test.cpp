// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/processes.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

constexpr uid_t kUser = 1000;
const std::vector<RunningProcess> kThree{{"capture1", 10, "/run/dpdk/capture1.10/dpdk_telemetry.v2", kUser},
                                         {"capture1", 20, "/run/dpdk/capture1.20/dpdk_telemetry.v2", kUser},
                                         {"dsim", 30, "/run/dpdk/dsim.30/dpdk_telemetry.v2", kUser}};

TEST(ChooseProcess, ByNameOrPid) {
    EXPECT_EQ(choose_process("dsim", kThree, kUser), kThree[2]);
    EXPECT_EQ(choose_process("20", kThree, kUser), kThree[1]);
    EXPECT_EQ(choose_process("capture1.10", kThree, kUser), kThree[0]);
}

TEST(ChooseProcess, TheOnlyOneNeedsNoName) {
    EXPECT_EQ(choose_process("", {kThree[2]}, kUser), kThree[2]);
}

TEST(ChooseProcess, SeveralAreListed) {
    test::expect_passing_error([] { choose_process("", kThree, kUser); },
                               {"3 processes run", "capture1 (pid 10)", "dsim (pid 30)"});
    test::expect_passing_error(
        [] { choose_process("capture1", kThree, kUser); },
        {"2 processes are called `capture1`", "(pid 10)", "(pid 20)", "give one's pid"});
}

TEST(ChooseProcess, NoneIsSaid) {
    test::expect_passing_error([] { choose_process("", {}, kUser); }, {"no reachable dpdk-spead runs"});
    test::expect_passing_error([] { choose_process("x", {}, kUser); }, {"none called `x`"});
    test::expect_passing_error([] { choose_process("dsin", kThree, kUser); },
                               {"did you mean `dsim`", "capture1 (pid 10)"});
    test::expect_passing_error([] { find_process("/nowhere/socket", {}); }, {"/nowhere/socket"});
}

TEST(ChooseProcess, OtherUsersAreNamed) {
    std::vector<RunningProcess> running = kThree;
    running[1].user = 0;
    running[2].user = 3'999'999'999;
    test::expect_passing_error([&] { choose_process("", running, kUser); },
                               {"capture1 (pid 10),", "capture1 (pid 20, of user root),",
                                "dsim (pid 30, of user number 3999999999)"});
}

TEST(FindProcesses, DirectoriesThatAreNotThereHaveNone) {
    const std::vector<process::Place> nowhere{{"/nowhere", 0, true}, {"/proc/self/maps", 0, true}};
    EXPECT_TRUE(find_processes(nowhere, std::chrono::seconds(1)).empty());
}

}  // namespace
}  // namespace spead::app
