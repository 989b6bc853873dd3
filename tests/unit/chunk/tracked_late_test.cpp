// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/chunk/numbered_rig.hpp"

/// Tests heaps of chunks that have left, and their counts, where ended heaps are not remembered.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

TEST(TrackedLate, HearsASenderThatUsesACountAgainWithoutAHistory) {
    for (const bool in_order : {false, true}) {
        heap::WindowConfig c = tracked_window();
        c.history = 0;
        c.in_order = in_order;
        NumberedRig rig({.window = 2}, c);
        EXPECT_EQ(rig.give(telling(0)), placed);
        EXPECT_EQ(rig.give(telling(4)), placed);
        EXPECT_EQ(rig.give(telling(8)), placed) << "chunk 0 leaves";
        EXPECT_EQ(rig.give(silent(0)), late);
        EXPECT_EQ(rig.give(telling(0)), late) << "a copy of its first packet";
        EXPECT_EQ(rig.give(silent(0)), late);
        EXPECT_EQ(rig.give(telling(0)), late) << "another copy";
        EXPECT_EQ(rig.counters.heaps_late, 1U) << "it is one heap";
        EXPECT_EQ(rig.give(telling(0, 0, 8, 3)), late) << "one that never began";
        EXPECT_EQ(rig.give(telling(0, 0, 8, 3)), late);
        EXPECT_EQ(rig.counters.heaps_late, 2U);
        EXPECT_EQ(rig.give(telling(9, 0, 8, 0)), placed) << "a new heap of the same count";
        EXPECT_EQ(rig.give(silent(0)), placed);
        EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
        EXPECT_EQ(rig.give(telling(999'999, 0, 8, 2)), out_of_range);
        EXPECT_EQ(rig.give(silent(2)), out_of_range);
        EXPECT_EQ(rig.give(telling(10, 0, 8, 2)), placed) << "one that was refused, too";
        rig.end();
    }
}

}  // namespace
}  // namespace spead::chunk::test
