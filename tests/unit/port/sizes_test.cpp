// SPDX-License-Identifier: BSD-3-Clause
#include "port/sizes.hpp"

#include <gtest/gtest.h>

namespace spead::port {
namespace {

TEST(Sizes, FramesAreThePayloadAndItsHeaders) {
    EXPECT_EQ(frame_of(1472), 1514U);
    EXPECT_EQ(frame_of(0), 42U);
    EXPECT_EQ(rx_frame_of(1472), 1522U) << "two VLAN tags";
    EXPECT_EQ(mtu_of(1472), 1500U);
    EXPECT_EQ(payload_of_mtu(1500), 1472U);
    EXPECT_EQ(payload_of_mtu(28), 0U);
    EXPECT_EQ(payload_of_mtu(0), 0U);
}

TEST(Sizes, DataRoomHoldsHeadroomAndFrameInWholeCacheLinesUpToTheFieldsLimit) {
    EXPECT_EQ(data_room_of(1514), 1664U);
    EXPECT_EQ(data_room_of(64), 192U);
    EXPECT_EQ(data_room_of(65), 256U);
    EXPECT_EQ(data_room_of(0), 128U);
    EXPECT_EQ(data_room_of(65407), 65535U);
    EXPECT_EQ(data_room_of(70000), 65535U);
}

TEST(Sizes, OnlyTheFirstSegmentOfAChainHasHeadroom) {
    EXPECT_EQ(segments_of(0, 2048), 1U);
    EXPECT_EQ(segments_of(1920, 2048), 1U);
    EXPECT_EQ(segments_of(1921, 2048), 2U);
    EXPECT_EQ(segments_of(1920 + 2048, 2048), 2U);
    EXPECT_EQ(segments_of(1920 + 2048 + 1, 2048), 3U);
    EXPECT_EQ(segments_of(9014, 2176), 5U);
}

TEST(Sizes, SlotsAreAPowerOfTwoWithinTheirLimits) {
    EXPECT_EQ(slots_for(0, 2048, 512, 16384), 512U);
    EXPECT_EQ(slots_for(2048 * 512, 2048, 512, 16384), 512U);
    EXPECT_EQ(slots_for(2048 * 512 + 1, 2048, 512, 16384), 1024U);
    EXPECT_EQ(slots_for(std::size_t{16} << 20, 1522, 512, 16384), 16384U);
    EXPECT_EQ(slots_for(std::size_t{16} << 20, 9250, 512, 16384), 2048U);
    EXPECT_EQ(slots_for(SIZE_MAX - 70000, 1, 512, 16384), 16384U);
    EXPECT_EQ(slots_for(std::size_t{1} << 40, 64, 512, 16384), 16384U);
}

TEST(Sizes, PoolBytesGrowWithEveryPart) {
    EXPECT_GE(pool_bytes_of(1000, 2176, 0), 1000U * (128 + 2176 + 64));
    EXPECT_GT(pool_bytes_of(1000, 2176, 128), pool_bytes_of(1000, 2176, 0));
    EXPECT_GT(pool_bytes_of(1001, 2176, 0), pool_bytes_of(1000, 2176, 0));
    EXPECT_GT(pool_bytes_of(std::uint32_t{1} << 31, 65535, 0), std::size_t{1} << 47) << "no overflow";
}

TEST(Sizes, ArePrintedAsOneLine) {
    EXPECT_EQ(to_string(queue_sizes(1024, 1000, 2176, 0)),
              "1024 descriptors, 1000 mbufs x 2176 bytes, 4.0 MiB");
}

TEST(Sizes, RoundUpKeepsMultiples) {
    EXPECT_EQ(round_up(0, 64), 0);
    EXPECT_EQ(round_up(64, 64), 64);
    EXPECT_EQ(round_up(65, 64), 128);
    EXPECT_EQ(round_up(9308U, 4096U), 12288U);
}

}  // namespace
}  // namespace spead::port
