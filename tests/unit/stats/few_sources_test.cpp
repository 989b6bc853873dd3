// SPDX-License-Identifier: BSD-3-Clause
#include "stats/few_sources.hpp"

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

TEST(FewSources, ASourceOfMostEventsIsThereWhateverElseComes) {
    FewSources few;
    for (std::uint32_t i = 0; i < 3000; i++) {
        few.note(7);
        few.note(1000 + i);
    }
    const FewSources::Source first = few.sorted()[0];
    EXPECT_EQ(first.address, 7U);
    EXPECT_GT(first.count, 1000U);
    EXPECT_LE(first.count, 3000U) << "never too high";
}

TEST(FewSources, FourSourcesAreCountedExactly) {
    FewSources few;
    for (std::uint32_t source = 1; source <= 4; source++)
        for (std::uint32_t n = 0; n < source; n++)
            few.note(source);
    for (std::uint32_t i = 0; i < 4; i++)
        EXPECT_EQ(few.sorted()[i], (FewSources::Source{4 - i, 4 - i}));
}

TEST(FewSources, SumsAndDifferencesKeepTheLargest) {
    FewSources a;
    FewSources b;
    for (std::uint32_t source = 1; source <= 4; source++)
        a.note(source);
    for (int i = 0; i < 10; i++)
        b.note(9);
    FewSources sum = a;
    sum.add(b);
    EXPECT_EQ(sum.sorted()[0], (FewSources::Source{9, 9})) << "one each made room for it";
    sum = b;
    sum.add(b);
    sum.take(b);
    EXPECT_EQ(sum.sorted()[0], (FewSources::Source{9, 10}));
    sum.take(b);
    EXPECT_EQ(sum.sorted()[0].count, 0U);
}

}  // namespace
}  // namespace spead::stats
