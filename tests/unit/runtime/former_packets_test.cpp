// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/former_packets.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace spead::runtime::unit_test {
namespace {

TEST(FormerPackets, AreOfOneStreamUntilItIsGone) {
    FormerPackets former;
    EXPECT_EQ(former.of(1), std::nullopt);
    former.add(1, 0);
    EXPECT_EQ(former.of(1), std::optional<std::uint64_t>(0)) << "the lcore had a lane";
    former.add(1, 5);
    former.add(1, 7);
    former.add(2, 100);
    EXPECT_EQ(former.of(1), std::optional<std::uint64_t>(12));
    EXPECT_EQ(former.of_former_streams(), 0U);

    former.stream_is_gone(1);
    EXPECT_EQ(former.of(1), std::nullopt);
    EXPECT_EQ(former.of(2), std::optional<std::uint64_t>(100));
    EXPECT_EQ(former.of_former_streams(), 12U);
    former.stream_is_gone(1);
    former.stream_is_gone(3);
    EXPECT_EQ(former.of_former_streams(), 12U) << "once, and only of streams with packets";
    former.stream_is_gone(2);
    EXPECT_EQ(former.of_former_streams(), 112U);
}

}  // namespace
}  // namespace spead::runtime::unit_test
