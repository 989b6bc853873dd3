// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_gaps.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/runtime/chunk_rig.hpp"

namespace spead::runtime::unit_test {
namespace {

/// Returns a chunk's bytes, `x` and `.` for zero, after its gaps were cleared.
std::string cleared(const std::string& placement, const std::vector<std::size_t>& heaps) {
    ChunkRig rig(placement);
    const auto fill = [](chunk::Chunk& chunk) {
        std::fill(chunk.data.begin(), chunk.data.end(), std::byte{'x'});
    };
    const chunk::Chunk& chunk = rig.chunk(1, heaps, fill);
    ChunkGaps(chunk::Placement::parse(placement)).clear(chunk);
    std::string text;
    for (const std::byte b : chunk.data)
        text += b == std::byte{0} ? '.' : static_cast<char>(b);
    return text;
}

TEST(ChunkGaps, ClearsMissingHeaps) {
    const std::string placement = "heap 3; axis pol: item 0x3101 [2]; time: item 0x1600 [2]";
    EXPECT_EQ(cleared(placement, {0, 1, 2, 3}), "xxxxxxxxxxxx");
    EXPECT_EQ(cleared(placement, {0, 2}), "xxx...xxx...");
    EXPECT_EQ(cleared(placement, {}), "............");
}

TEST(ChunkGaps, FollowsTheRowsOfATransposition) {
    // Two rows of 2 bytes, 4 bytes apart: heap 0 has bytes 0 1 4 5, heap 1 has 2 3 6 7.
    const std::string placement = "heap 4; time: item 0x1600 [2] by 2; rows 2 by 4";
    EXPECT_EQ(cleared(placement, {0}), "xx..xx..");
    EXPECT_EQ(cleared(placement, {1}), "..xx..xx");
}

TEST(ChunkGaps, LeavesThePacketsThatCame) {
    ChunkRig rig("heap 1500; time: item 0x1600 [2]; presence packet 1000; direct");
    chunk::Chunk& chunk =
        rig.chunk(1, {}, [](chunk::Chunk& c) { std::fill(c.data.begin(), c.data.end(), std::byte{'x'}); });
    ASSERT_EQ(chunk.present.size(), 4U);
    chunk.present[0] = 1;
    chunk.present[3] = 1;
    ChunkGaps(chunk::Placement::parse("heap 1500; time: item 0x1600 [2]; presence packet 1000; direct"))
        .clear(chunk);
    const auto zeros = [&](std::size_t from, std::size_t to) {
        return std::count(chunk.data.begin() + static_cast<std::ptrdiff_t>(from),
                          chunk.data.begin() + static_cast<std::ptrdiff_t>(to), std::byte{0});
    };
    EXPECT_EQ(zeros(0, 1000), 0);
    EXPECT_EQ(zeros(1000, 1500), 500) << "the last packet is short";
    EXPECT_EQ(zeros(1500, 2500), 1000);
    EXPECT_EQ(zeros(2500, 3000), 0);
}

}  // namespace
}  // namespace spead::runtime::unit_test
