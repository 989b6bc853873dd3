// SPDX-License-Identifier: BSD-3-Clause
#include "app/check_machine.hpp"

#include <linux/capability.h>

#include <gtest/gtest.h>

#include "tests/support/fake_host.hpp"
#include "tests/unit/app/expected_finding.hpp"

namespace spead::app {
namespace {

TEST(CheckMachine, HugePages) {
    test::FakeHost machine;
    constexpr std::size_t kNeed = std::size_t{5} << 20;
    expect(check_huge_pages(machine.host(), kNeed, false), Verdict::warn, "none free", "vm.nr_hugepages=3");
    expect(check_huge_pages(machine.host(), kNeed, true), Verdict::fail, "PCI card", "vm.nr_hugepages=3");
    machine.file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "2\n");
    expect(check_huge_pages(machine.host(), kNeed, true), Verdict::fail, "free: 2 of 2 MiB");
    machine.file("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "1\n");
    expect(check_huge_pages(machine.host(), kNeed, true), Verdict::ok, "1 of 1 GiB");
}

TEST(CheckMachine, LockedMemory) {
    test::FakeHost machine;
    expect(check_memlock(machine.host(), 1 << 20), Verdict::ok, "no limit");
    machine.lockable = 65536;
    expect(check_memlock(machine.host(), 1 << 20), Verdict::fail, "limit 64 KiB", "ulimit -l unlimited");
    expect(check_memlock(machine.host(), 65536), Verdict::ok, "limit 64 KiB");
}

TEST(CheckMachine, Capabilities) {
    test::FakeHost machine;
    expect(check_capabilities(machine.host()), Verdict::ok, "CAP_NET_RAW");
    machine.without(CAP_NET_ADMIN);
    expect(check_capabilities(machine.host()), Verdict::warn, "without CAP_NET_ADMIN", "setcap");
}

TEST(CheckMachine, Governor) {
    test::FakeHost machine;
    expect(check_governor(machine.host(), {1, 2}), Verdict::ok, "not scaled");
    machine.file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    expect(check_governor(machine.host(), {1, 2}), Verdict::ok, "performance");
    machine.file("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
    expect(check_governor(machine.host(), {1, 2}), Verdict::warn, "CPU 2: powersave", "cpupower");
}

TEST(CheckMachine, IsolatedCpus) {
    test::FakeHost machine;
    machine.file("/sys/devices/system/cpu/isolated", "\n");
    expect(check_isolation(machine.host(), {2, 5}), Verdict::warn, "CPU 2,5", "isolcpus=2,5");
    machine.file("/sys/devices/system/cpu/isolated", "2,4-7\n");
    expect(check_isolation(machine.host(), {2, 5, 7}), Verdict::ok, "2,5,7");
    expect(check_isolation(machine.host(), {3, 5}), Verdict::warn, "CPU 3 ", "isolcpus=3 ");
}

}  // namespace
}  // namespace spead::app
