// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/huge_pages.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/fake_machine.hpp"

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr std::size_t kMebi = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kSmall = 2048;     // KiB
constexpr std::size_t kGiant = 1048576;  // KiB

class HugePagesTest : public testing::Test {
  protected:
    HugeMemory memory() const { return huge_memory(machine_.view()); }
    std::string reason(const EalMemory& need) const {
        const auto shortage = huge_shortage(memory(), need);
        return shortage ? shortage->reason : "none";
    }
    std::string command(const EalMemory& need) const {
        const auto shortage = huge_shortage(memory(), need);
        return shortage ? shortage->command : "none";
    }
    std::vector<std::string> arguments(const EalMemory& need, bool user_amount = false) const {
        return choose_memory(memory(), need, false, user_amount).arguments;
    }

    spead::test::FakeMachine machine_;
};

TEST_F(HugePagesTest, NoneAreReserved) {
    EXPECT_EQ(memory().free_bytes(), 0U);
    EXPECT_EQ(describe(memory()), "none reserved");
    EXPECT_EQ(reason({{0, 5 * kMebi}}), "5 MiB of huge pages are needed, and none are reserved");
    EXPECT_EQ(command({{0, 5 * kMebi}}), "sysctl -w vm.nr_hugepages=3");
    const MemoryChoice choice = choose_memory(memory(), {{0, 5 * kMebi + 1}}, false, false);
    EXPECT_THAT(choice.arguments, ElementsAre("--no-huge", "-m", "6"));
    EXPECT_FALSE(choice.huge);
    EXPECT_THAT(choice.remark, IsEmpty()) << "nobody expects any";
}

TEST_F(HugePagesTest, ThereAreEnough) {
    machine_.huge_pages(0, kSmall, 512, 100);
    EXPECT_EQ(memory().free_bytes(), 200 * kMebi);
    EXPECT_EQ(reason({{0, 200 * kMebi}}), "none");
    EXPECT_EQ(reason({{-1, 200 * kMebi}}), "none") << "of any node";
    EXPECT_THAT(arguments({{0, 200 * kMebi}}), ElementsAre("--in-memory", "--single-file-segments",
                                                           "--huge-dir=/dev/null/none", "--socket-mem=200"));
    EXPECT_THAT(arguments({{0, 3 * kMebi + 1}}, true),
                ElementsAre("--in-memory", "--single-file-segments", "--huge-dir=/dev/null/none"))
        << "the user's -m";
}

TEST_F(HugePagesTest, SomeAreThereAndTooFew) {
    machine_.huge_pages(0, kSmall, 512, 40);
    EXPECT_EQ(reason({{0, 100 * kMebi}}),
              "100 MiB of huge pages are needed, and 80 MiB are free (40 of 512 of 2 MiB free)");
    EXPECT_EQ(command({{0, 100 * kMebi}}), "sysctl -w vm.nr_hugepages=522")
        << "as many as there are, and what is missing";
    const MemoryChoice choice = choose_memory(memory(), {{0, 100 * kMebi}}, false, true);
    EXPECT_THAT(choice.arguments, ElementsAre("--no-huge")) << "the user's -m";
    EXPECT_THAT(choice.remark, AllOf(HasSubstr("EAL's memory uses ordinary pages: 100 MiB"),
                                     HasSubstr("`sysctl -w vm.nr_hugepages=522`")));
    EXPECT_THAT(
        [&] {
            choose_memory(memory(), {{0, 100 * kMebi}}, true, false);
        },
        ThrowsMessage<Error>(HasSubstr("memory: a card needs huge pages: 100 MiB")));
}

TEST_F(HugePagesTest, AreReservedForOthers) {
    machine_.huge_pages(0, kSmall, 100, 60);
    machine_.file("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "50\n");
    EXPECT_EQ(memory().free_bytes(), 20 * kMebi);
    machine_.file("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "500\n");
    EXPECT_EQ(memory().free_bytes(), 0U);
}

TEST_F(HugePagesTest, AreOf1GiBOnly) {
    machine_.huge_pages(0, kGiant, 4, 2);
    machine_.huge_pages(0, kSmall, 0, 0);
    EXPECT_EQ(describe(memory()), "2 of 4 of 1 GiB free");
    EXPECT_EQ(reason({{0, 90 * kMebi}}), "none");
    EXPECT_EQ(reason({{0, 3 * kGiB}}),
              "3 GiB of huge pages are needed, and 2 GiB are free (2 of 4 of 1 GiB free)");
    EXPECT_EQ(command({{0, 3 * kGiB}}), "sysctl -w vm.nr_hugepages=512")
        << "small ones can be had without booting";
    machine_.file("/proc/meminfo", "MemTotal: 8000 kB\nHugepagesize:    1048576 kB\n");
    EXPECT_EQ(command({{0, 3 * kGiB}}), "echo 512 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        << "where the sysctl counts others";
}

TEST_F(HugePagesTest, OfSeveralSizesAddUp) {
    machine_.huge_pages(0, kSmall, 100, 100);
    machine_.huge_pages(0, kGiant, 1, 1);
    EXPECT_EQ(describe(memory()), "1 of 1 of 1 GiB, 100 of 100 of 2 MiB free");
    EXPECT_EQ(reason({{0, kGiB + 200 * kMebi}}), "none");
    EXPECT_EQ(command({{0, kGiB + 201 * kMebi}}), "sysctl -w vm.nr_hugepages=101");
}

TEST_F(HugePagesTest, AreOnTheOtherNode) {
    machine_.huge_pages(0, kSmall, 512, 512);
    machine_.huge_pages(1, kSmall, 10, 4);
    EXPECT_EQ(describe(memory()), "512 of 512 of 2 MiB on node 0, 4 of 10 of 2 MiB on node 1 free");
    const EalMemory need{{0, 30 * kMebi}, {1, 100 * kMebi}};
    EXPECT_EQ(reason(need),
              "100 MiB of huge pages are needed on NUMA node 1, and 8 MiB are free there "
              "(512 of 512 of 2 MiB on node 0, 4 of 10 of 2 MiB on node 1 free)");
    EXPECT_EQ(command(need),
              "echo 56 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
    EXPECT_THAT(choose_memory(memory(), {{1, 100 * kMebi}}, false, false).remark,
                HasSubstr("100 MiB of huge pages are needed on NUMA node 1"));
}

TEST_F(HugePagesTest, AreTakenFromTheNodesThatNeedThem) {
    machine_.huge_pages(0, kSmall, 512, 50);
    machine_.huge_pages(1, kSmall, 512, 512);
    EXPECT_THAT(arguments({{0, 30 * kMebi}, {1, 100 * kMebi}}), testing::Contains("--socket-mem=30,100"));
    EXPECT_THAT(arguments({{1, 100 * kMebi}}), testing::Contains("--socket-mem=0,100"));
    EXPECT_THAT(arguments({{-1, 20 * kMebi}, {0, 90 * kMebi}}), testing::Contains("--socket-mem=90,20"))
        << "what may be anywhere is where there is room";
    EXPECT_THAT(arguments({{-1, 1100 * kMebi}}), testing::Contains("--socket-mem=76,1024"));
    EXPECT_EQ(
        reason({{-1, 1200 * kMebi}}),
        "1.17 GiB of huge pages are needed, and 1.10 GiB are free (50 of 512 of 2 MiB on node 0, 512 of "
        "512 of 2 MiB on node 1 free)");
}

TEST_F(HugePagesTest, AreOnANodeThatThisProcessMayNotUse) {
    machine_.huge_pages(0, kSmall, 512, 512);
    machine_.huge_pages(1, kSmall, 512, 512);
    machine_.file("/proc/self/status", "Name:\tx\nMems_allowed:\t2\nMems_allowed_list:\t1\n");
    EXPECT_EQ(memory().free_bytes(0), 0U);
    EXPECT_EQ(memory().free_bytes(1), kGiB);
}

TEST_F(HugePagesTest, AreWhatTheControlGroupAllows) {
    machine_.huge_pages(0, kSmall, 512, 512);
    machine_.file("/proc/self/cgroup", "1:name=systemd:/x\n0::/pods/one\n");
    machine_.file("/sys/fs/cgroup/pods/one/hugetlb.2MB.max", "max\n");
    EXPECT_EQ(memory().free_bytes(), kGiB);
    machine_.file("/sys/fs/cgroup/pods/hugetlb.2MB.max", fmt::format("{}\n", 100 * kMebi));
    machine_.file("/sys/fs/cgroup/pods/hugetlb.2MB.current", fmt::format("{}\n", 40 * kMebi));
    EXPECT_EQ(memory().free_bytes(), 60 * kMebi);
    machine_.file("/sys/fs/cgroup/pods/one/hugetlb.2MB.rsvd.max", "0\n");
    EXPECT_EQ(memory().free_bytes(), 0U);
    EXPECT_EQ(describe(memory()), "0 of 512 of 2 MiB free");
}

TEST_F(HugePagesTest, AreFilesToTheKernel) {
    machine_.huge_pages(0, kSmall, 512, 512);
    machine_.longest_file = 2'000'000;
    EXPECT_EQ(reason({{0, 10 * kMebi}}),
              "10 MiB of huge pages need files of up to 12 MiB, and this process may make files "
              "of 1.91 MiB");
    EXPECT_EQ(command({{0, 10 * kMebi}}), "ulimit -f unlimited");
    EXPECT_THAT(arguments({{0, 10 * kMebi}}), ElementsAre("--no-huge", "-m", "10"));
    machine_.longest_file = 12 * kMebi;
    EXPECT_EQ(reason({{0, 10 * kMebi}}), "none");
}

TEST_F(HugePagesTest, OfAKernelWithoutNuma) {
    machine_.huge_pages(0, kSmall, 512, 100);
    machine_.remove("/sys/devices/system/node");
    EXPECT_EQ(memory().free_bytes(), 200 * kMebi);
    EXPECT_EQ(memory().free_bytes(0), 200 * kMebi);
    EXPECT_EQ(memory().nodes, 1U);
}

}  // namespace
}  // namespace spead::runtime
