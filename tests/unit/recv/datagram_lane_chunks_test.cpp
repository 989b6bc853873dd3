// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "recv/datagram_lane.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests the stores of a lane without EAL that fills chunks.
namespace spead::recv::test {
namespace {

TEST(DatagramLaneChunks, CopiesIntoChunksPastTheCacheAsSoonAsTheyHaveOutgrownIt) {
    const chunk::Placement placement = chunk::Placement::parse("heap 1048576; time: item 0x1600 [4]; direct");
    const chunk::Layout layout = placement.check();
    chunk::ChunkRing ring(2);
    chunk::ChunkWindow window({}, ring);
    DatagramLane lane(local_config(), std::size_t{1} << 20);
    lane.fill(std::make_unique<chunk::ChunkLane>(placement, window, lane.lane().counters, false));
    std::vector<std::byte> data(2 * layout.bytes);
    std::vector<std::uint8_t> present(2 * layout.present_bytes());
    const std::uint64_t present_bytes = layout.present_bytes();
    lane.housekeep(1);
    for (const std::size_t i : {0U, 1U}) {
        EXPECT_EQ(lane.lane().stores, memory::Stores::cached) << "4 MiB stay in the cache";
        ring.add(layout, std::span(data).subspan(i * layout.bytes, layout.bytes),
                 std::span(present).subspan(i * present_bytes, present_bytes), {});
        lane.housekeep(2 + i);
    }
    EXPECT_EQ(lane.lane().stores, memory::Stores::streaming);
}

}  // namespace
}  // namespace spead::recv::test
