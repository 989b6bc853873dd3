// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_machine.hpp"

#include <linux/capability.h>

#include <gtest/gtest.h>

#include "tests/support/fake_machine.hpp"
#include "tests/unit/app/inspect/expected_finding.hpp"

namespace spead::app {
namespace {

TEST(CheckMachine, HugePages) {
    spead::test::FakeMachine machine;
    const runtime::EalMemory need{{0, std::size_t{5} << 20}};
    expect(check_huge_pages(machine.view(), need, false), Verdict::warn,
           "5 MiB of huge pages are needed, and none are reserved; ordinary pages", "vm.nr_hugepages=3");
    expect(check_huge_pages(machine.view(), need, true), Verdict::fail, "a card needs them",
           "vm.nr_hugepages=3");
    machine.huge_pages(0, 2048, 40, 2);
    expect(check_huge_pages(machine.view(), need, true), Verdict::fail,
           "4 MiB are free (2 of 40 of 2 MiB free)", "vm.nr_hugepages=41");
    machine.huge_pages(0, 1048576, 1, 1);
    expect(check_huge_pages(machine.view(), need, true), Verdict::ok,
           "1 of 1 of 1 GiB, 2 of 40 of 2 MiB free; 5 MiB needed");
}

TEST(CheckMachine, LockedMemory) {
    spead::test::FakeMachine machine;
    expect(check_memlock(machine.view(), 1 << 20), Verdict::ok, "no limit");
    machine.lockable = 65536;
    expect(check_memlock(machine.view(), 1 << 20), Verdict::fail, "limit 64 KiB", "ulimit -l unlimited");
    expect(check_memlock(machine.view(), 65536), Verdict::ok, "limit 64 KiB");
}

TEST(CheckMachine, MemoryOfChunks) {
    spead::test::FakeMachine machine;
    runtime::Layout layout;
    layout.eal_memory = {{0, std::size_t{5} << 20}};
    runtime::Plan plan;
    runtime::ChunkPlan& chunk = plan.receives.emplace_back().chunk.emplace();
    chunk.placement = "heap 4096; time: item 0x1600 / 4096 [1024]";  // 4 MiB
    chunk.chunks = 4;
    EXPECT_TRUE(check_chunks(machine.view(), layout, plan).empty()) << "any memory will do";

    chunk.memory = runtime::ChunkMemory::huge;
    const Findings none = check_chunks(machine.view(), layout, plan);
    ASSERT_EQ(none.size(), 1U);
    expect(none[0], Verdict::fail, "with 16 MiB for chunks", "vm.nr_hugepages=11");
    machine.huge_pages(0, 2048, 10, 10);
    const Findings few = check_chunks(machine.view(), layout, plan);
    ASSERT_EQ(few.size(), 1U) << "three of the ten pages are EAL's";
    expect(few[0], Verdict::fail, "21 MiB of huge pages are needed", "vm.nr_hugepages=11");
    machine.huge_pages(0, 2048, 11, 11);
    EXPECT_TRUE(check_chunks(machine.view(), layout, plan).empty());
    machine.huge_pages(0, 2048, 2, 2);
    const Findings two = check_chunks(machine.view(), layout, plan);
    ASSERT_EQ(two.size(), 1U) << "EAL takes none of two";
    expect(two[0], Verdict::fail, "16 MiB of huge pages are needed", "vm.nr_hugepages=11");

    chunk.memory = runtime::ChunkMemory::pinned;
    EXPECT_TRUE(check_chunks(machine.view(), layout, plan).empty()) << "no limit";
    machine.lockable = std::size_t{8} << 20;
    const Findings limited = check_chunks(machine.view(), layout, plan);
    ASSERT_EQ(limited.size(), 1U);
    expect(limited[0], Verdict::fail, "16 MiB of pinned chunks, and RLIMIT_MEMLOCK is 8 MiB", "ulimit -l");
    machine.huge_pages(0, 2048, 11, 11);
    EXPECT_TRUE(check_chunks(machine.view(), layout, plan).empty()) << "huge pages need no limit";
    plan.receives[0].enabled = false;
    machine.huge_pages(0, 2048, 0, 0);
    EXPECT_TRUE(check_chunks(machine.view(), layout, plan).empty());
}

TEST(CheckMachine, Capabilities) {
    spead::test::FakeMachine machine;
    expect(check_capabilities(machine.view()), Verdict::ok, "CAP_NET_RAW");
    machine.without(CAP_NET_ADMIN);
    expect(check_capabilities(machine.view()), Verdict::warn, "without CAP_NET_ADMIN", "setcap");
}

TEST(CheckMachine, Governor) {
    spead::test::FakeMachine machine;
    expect(check_governor(machine.view(), {1, 2}), Verdict::ok, "not scaled");
    machine.file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    expect(check_governor(machine.view(), {1, 2}), Verdict::ok, "performance");
    machine.file("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
    expect(check_governor(machine.view(), {1, 2}), Verdict::warn, "CPU 2: powersave", "cpupower");
}

TEST(CheckMachine, IsolatedCpus) {
    spead::test::FakeMachine machine;
    machine.file("/sys/devices/system/cpu/isolated", "\n");
    expect(check_isolation(machine.view(), {2, 5}), Verdict::warn, "CPU 2,5", "isolcpus=2,5");
    machine.file("/sys/devices/system/cpu/isolated", "2,4-7\n");
    expect(check_isolation(machine.view(), {2, 5, 7}), Verdict::ok, "2,5,7");
    expect(check_isolation(machine.view(), {3, 5}), Verdict::warn, "CPU 3 ", "isolcpus=3 ");
}

}  // namespace
}  // namespace spead::app
