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

TEST(DpdkVersion, MemifHasFastPathsSince2303AndCorruptsChainsUntilTheirRepair) {
    const struct {
        unsigned year, month, update;
        bool has_fast_paths, corrupts_chains;
    } versions[] = {
        {22, 11, 0, false, false}, {22, 11, 11, false, false}, {23, 3, 0, true, true},
        {23, 7, 0, true, true},    {23, 11, 6, true, true},    {23, 11, 7, true, false},
        {24, 3, 0, true, true},    {24, 11, 4, true, true},    {24, 11, 5, true, true},
        {24, 11, 6, true, false},  {24, 11, 8, true, false},   {25, 7, 0, true, true},
        {25, 11, 0, true, true},   {25, 11, 1, true, false},   {26, 3, 0, true, false},
        {26, 11, 0, true, false},
    };
    for (const auto& v : versions) {
        EXPECT_EQ(memif_has_fast_paths(version(v.year, v.month, v.update)), v.has_fast_paths)
            << v.year << "." << v.month << "." << v.update;
        EXPECT_EQ(memif_corrupts_chains(version(v.year, v.month, v.update)), v.corrupts_chains)
            << v.year << "." << v.month << "." << v.update;
    }
}

}  // namespace
}  // namespace spead::dpdk
