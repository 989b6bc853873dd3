// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/lcore_crew.hpp"

#include <gtest/gtest.h>

namespace spead::app {
namespace {

TEST(LcoreCrew, WorkersHaveACpuEachAsFarAsThereAreSoMany) {
    EXPECT_EQ(crew_lcores({0, 2, 3}, 3, 2), "0@0,1@3,2@2");
    EXPECT_EQ(crew_lcores({0, 2, 3}, 2, 3), "0@0,1@2,2@0,3@3") << "from the named one down";
    EXPECT_EQ(crew_lcores({0, 1}, 1, 4), "0@0,1@1,2@0,3@1,4@0") << "they share";
    EXPECT_EQ(crew_lcores({5}, 5, 2), "0@5,1@5,2@5");
}

TEST(LcoreCrew, TheCallingLcoreCanWorkAlone) {
    LcoreCrew crew(1, LcoreCrew::Where::here);
    EXPECT_FALSE(crew.shares_cpus());
    unsigned worked = 9;
    crew.run([&worked](unsigned number) {
        worked = number;
        return std::uint64_t{0};
    });
    EXPECT_EQ(worked, 0U);
}

}  // namespace
}  // namespace spead::app
