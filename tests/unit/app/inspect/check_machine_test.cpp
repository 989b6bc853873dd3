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
