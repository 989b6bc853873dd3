// SPDX-License-Identifier: BSD-3-Clause
#include "base/counted.hpp"

#include <gtest/gtest.h>

namespace spead {
namespace {

TEST(Counted, OneHasNoPlural) {
    EXPECT_EQ(counted(0, "heaps"), "0 heaps");
    EXPECT_EQ(counted(1, "heaps"), "1 heap");
    EXPECT_EQ(counted(2, "held packets"), "2 held packets");
    EXPECT_EQ(counted(1, "held packets"), "1 held packet");
    EXPECT_EQ(counted(1'000'001, "lines"), "1000001 lines");
}

TEST(Counted, TheVerbAgreesWithTheCount) {
    EXPECT_EQ(counted_were(1, "heaps"), "1 heap was");
    EXPECT_EQ(counted_were(2, "heaps"), "2 heaps were");
}

TEST(Counted, OtherWordsAgreeWithTheCount) {
    EXPECT_EQ(noun_for(1, "chunks"), "chunk");
    EXPECT_EQ(noun_for(0, "chunks"), "chunks");
    EXPECT_EQ(word_for(1, "was", "were"), "was");
    EXPECT_EQ(word_for(0, "was", "were"), "were");
    EXPECT_EQ(word_for(11, "was", "were"), "were");
}

}  // namespace
}  // namespace spead
