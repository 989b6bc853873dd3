// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/pair_placement.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include <fmt/format.h>

namespace spead::app {
namespace {

using runtime::PollMode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Returns CPUs that are cores of their own.
std::vector<BenchCpu> cores(const std::vector<unsigned>& cpus) {
    std::vector<BenchCpu> all;
    for (const unsigned cpu : cpus)
        all.push_back({cpu, cpu});
    return all;
}

/// Returns CPUs 0 to n-1 of n/2 cores, each with two threads that are n/2 apart, as most machines number
/// them.
std::vector<BenchCpu> siblings(unsigned n) {
    std::vector<BenchCpu> all;
    for (unsigned cpu = 0; cpu < n; cpu++)
        all.push_back({cpu, cpu % (n / 2)});
    return all;
}

TEST(PairPlacement, OneCpuHasEverything) {
    const PairPlacement p = place_pair(cores({3}), {}, {});
    EXPECT_EQ(p.near, (EndPlacement{3, {3}}));
    EXPECT_EQ(p.far, (EndPlacement{3, {3}}));
    EXPECT_THAT(p.near.others(), ElementsAre(3));
    EXPECT_THAT(p.reason, HasSubstr("1 CPU is fewer than 4"));
    EXPECT_THAT(p.text(), HasSubstr("Near end: lcore on CPU 3, other threads on CPU 3."));
    EXPECT_THAT(p.warning(PollMode::busy, false), HasSubstr("on CPU 3,"));
}

TEST(PairPlacement, TwoCpusHaveAnEndEach) {
    for (const std::vector<BenchCpu>& cpus : {cores({5, 6}), std::vector<BenchCpu>{{5, 5}, {6, 5}}}) {
        const PairPlacement p = place_pair(cpus, {}, {});
        EXPECT_EQ(p.near, (EndPlacement{5, {5}}));
        EXPECT_EQ(p.far, (EndPlacement{6, {6}}));
        EXPECT_THAT(p.reason, HasSubstr("2 CPUs are fewer than 4"));
        EXPECT_THAT(p.warning(PollMode::busy, false), HasSubstr("on CPU 6,")) << "only the far end receives";
        EXPECT_THAT(p.warning(PollMode::busy, true), HasSubstr("on CPUs 5 and 6,"));
    }
}

TEST(PairPlacement, ThreeCpusHaveOneForTheOtherThreadsOfBothEnds) {
    const PairPlacement p = place_pair(cores({0, 1, 2}), {}, {});
    EXPECT_EQ(p.near, (EndPlacement{2, {0, 2}}));
    EXPECT_EQ(p.far, (EndPlacement{1, {0, 1}}));
    EXPECT_THAT(p.reason, HasSubstr("3 CPUs are fewer than 4"));
    EXPECT_THAT(p.warning(PollMode::busy, true), IsEmpty()) << "no lcore shares its CPU";
}

TEST(PairPlacement, FourCpusAndMoreAreHalved) {
    const PairPlacement four = place_pair(cores({0, 1, 2, 3}), {}, {});
    EXPECT_EQ(four.near, (EndPlacement{1, {0, 1}}));
    EXPECT_EQ(four.far, (EndPlacement{3, {2, 3}}));
    EXPECT_THAT(four.reason, IsEmpty());
    EXPECT_EQ(
        four.text(),
        "Near end: lcore on CPU 1, other threads on CPU 0. Far end: lcore on CPU 3, other threads on CPU "
        "2.");
    EXPECT_THAT(four.warning(PollMode::busy, true), IsEmpty());

    const PairPlacement sixteen =
        place_pair(cores({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}), {}, {});
    EXPECT_EQ(sixteen.near.lcore, 7U);
    EXPECT_THAT(sixteen.near.cpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(sixteen.far.lcore, 15U);
    EXPECT_THAT(sixteen.far.cpus, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
}

TEST(PairPlacement, OnlyTheCpusOfTheProcessCount) {
    const PairPlacement p = place_pair(cores({4, 9, 11, 30, 31}), {}, {});
    EXPECT_EQ(p.near, (EndPlacement{11, {4, 9, 11}}));
    EXPECT_EQ(p.far, (EndPlacement{31, {30, 31}}));
}

TEST(PairPlacement, TheSecondThreadOfALcoresCoreStaysIdle) {
    const PairPlacement p = place_pair(siblings(16), {}, {});
    EXPECT_THAT(p.near.cpus, ElementsAre(0, 1, 2, 8, 9, 10, 11)) << "core 3 has CPUs 3 and 11";
    EXPECT_EQ(p.near.lcore, 11U);
    EXPECT_THAT(p.far.cpus, ElementsAre(4, 5, 6, 12, 13, 14, 15));
    EXPECT_EQ(p.far.lcore, 15U);
    EXPECT_THAT(p.reason, IsEmpty());
}

TEST(PairPlacement, TwoCoresOfTwoThreadsHaveAnEndEach) {
    const PairPlacement p = place_pair(siblings(4), {}, {});
    EXPECT_EQ(p.near, (EndPlacement{2, {0, 2}}));
    EXPECT_EQ(p.far, (EndPlacement{3, {1, 3}}));
    EXPECT_THAT(p.reason, HasSubstr("share cores"));
}

TEST(PairPlacement, EachEndHasTwoCpusOrMoreOfFour) {
    const PairPlacement five = place_pair({{0, 0}, {1, 0}, {2, 2}, {3, 2}, {4, 4}}, {}, {});
    EXPECT_THAT(five.near.cpus, ElementsAre(0, 1));
    EXPECT_THAT(five.far.cpus, testing::UnorderedElementsAre(2, 3, 4));
    const PairPlacement four = place_pair({{0, 0}, {1, 1}, {5, 1}, {2, 2}}, {}, {});
    EXPECT_THAT(four.near.cpus, ElementsAre(0, 1));
    EXPECT_THAT(four.far.cpus, testing::UnorderedElementsAre(2, 5));
}

TEST(PairPlacement, LcoresGetDifferentCoresOfThreeCpus) {
    const PairPlacement p = place_pair({{0, 0}, {1, 1}, {2, 1}}, {}, {});
    EXPECT_EQ(p.near.lcore, 2U);
    EXPECT_EQ(p.far.lcore, 0U);
}

TEST(PairPlacement, NamedLcoresStay) {
    const PairPlacement both = place_pair(cores({0, 1, 2, 3}), 0, 2);
    EXPECT_EQ(both.near, (EndPlacement{0, {0, 1, 2, 3}}));
    EXPECT_EQ(both.far, (EndPlacement{2, {0, 1, 2, 3}}));
    EXPECT_THAT(both.reason, HasSubstr("name lcores"));
    EXPECT_EQ(place_pair(cores({0, 1}), 0, {}).far.lcore, 1U);
    EXPECT_EQ(place_pair(cores({0, 1}), {}, 1).near.lcore, 0U);
    EXPECT_EQ(place_pair(siblings(4), {}, 3).near.lcore, 2U) << "on another core";
    const PairPlacement same = place_pair(cores({0, 1, 2, 3}), 2, 2);
    EXPECT_THAT(same.reason, HasSubstr("Both lcores share CPU 2"));
    EXPECT_THAT(same.warning(PollMode::busy, false), HasSubstr("on CPU 2,"));
}

TEST(PairPlacement, OnlyBusyLcoresAreWarnedOf) {
    for (const PollMode mode : {PollMode::adaptive, PollMode::interrupt})
        EXPECT_THAT(place_pair(cores({0, 1}), {}, {}).warning(mode, true), IsEmpty());
    EXPECT_THAT(place_pair(cores({0, 1}), {}, {}).warning(PollMode::busy, true), HasSubstr("CPUs 0 and 1"));
}

TEST(PairPlacement, TakesCoresFromTheKernel) {
    const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "pair_placement";
    for (const auto& [cpu, list] : {std::pair(0, "0,2"), std::pair(2, "0,2"), std::pair(3, "nonsense")}) {
        const auto directory = root / fmt::format("sys/devices/system/cpu/cpu{}/topology", cpu);
        std::filesystem::create_directories(directory);
        std::ofstream(directory / "thread_siblings_list") << list << '\n';
    }
    EXPECT_THAT(bench_cpus(port::Sysfs(root), {0, 2, 3, 7}),
                ElementsAre(BenchCpu{0, 0}, BenchCpu{2, 0}, BenchCpu{3, 3}, BenchCpu{7, 7}));
    std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace spead::app
