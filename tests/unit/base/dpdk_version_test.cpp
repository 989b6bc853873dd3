// SPDX-License-Identifier: BSD-3-Clause
#include "base/dpdk_version.hpp"

#include <gtest/gtest.h>

namespace spead::dpdk {
namespace {

constexpr std::uint32_t version(unsigned year, unsigned month, unsigned update) {
    return RTE_VERSION_NUM(year, month, update, 99U);
}

TEST(DpdkVersion, OfTheLibraryThatRunsIsNotOlderThanTheBuilds) {
    EXPECT_EQ(running_version() >> 16, RTE_VERSION >> 16) << "the same year and month: another ABI otherwise";
}

TEST(DpdkVersion, MemifHasFastPathsSince2303) {
    EXPECT_FALSE(memif_has_fast_paths(version(22, 11, 0)));
    EXPECT_FALSE(memif_has_fast_paths(version(22, 11, 11)));
    EXPECT_TRUE(memif_has_fast_paths(version(23, 3, 0)));
    EXPECT_TRUE(memif_has_fast_paths(version(24, 11, 8)));
    EXPECT_TRUE(memif_has_fast_paths(version(26, 3, 0)));
}

TEST(DpdkVersion, MemifCorruptsChainsFromItsFastPathsToTheirRepair) {
    EXPECT_FALSE(memif_corrupts_chains(version(22, 11, 0)));
    EXPECT_FALSE(memif_corrupts_chains(version(22, 11, 11)));
    EXPECT_TRUE(memif_corrupts_chains(version(23, 3, 0)));
    EXPECT_TRUE(memif_corrupts_chains(version(23, 7, 0)));
    EXPECT_TRUE(memif_corrupts_chains(version(23, 11, 6)));
    EXPECT_FALSE(memif_corrupts_chains(version(23, 11, 7)));
    EXPECT_TRUE(memif_corrupts_chains(version(24, 3, 0)));
    EXPECT_TRUE(memif_corrupts_chains(version(24, 11, 4)));
    EXPECT_TRUE(memif_corrupts_chains(version(24, 11, 5)));
    EXPECT_FALSE(memif_corrupts_chains(version(24, 11, 6)));
    EXPECT_FALSE(memif_corrupts_chains(version(24, 11, 8)));
    EXPECT_TRUE(memif_corrupts_chains(version(25, 7, 0)));
    EXPECT_TRUE(memif_corrupts_chains(version(25, 11, 0)));
    EXPECT_FALSE(memif_corrupts_chains(version(25, 11, 1)));
    EXPECT_FALSE(memif_corrupts_chains(version(26, 3, 0)));
    EXPECT_FALSE(memif_corrupts_chains(version(26, 11, 0)));
}

}  // namespace
}  // namespace spead::dpdk
