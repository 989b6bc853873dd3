// SPDX-License-Identifier: BSD-3-Clause
#include "send/heap_layout.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::send {
namespace {

TEST(HeapLayout, RoundsPacketSizesDownToEightBytes) {
    EXPECT_EQ(usable_packet_size(56), 56U);
    EXPECT_EQ(usable_packet_size(63), 56U);
    EXPECT_EQ(usable_packet_size(1472), 1472U);
    EXPECT_EQ(usable_packet_size(1479), 1472U);
    EXPECT_EQ(usable_packet_size(65507), 65504U);
    EXPECT_THROW(usable_packet_size(55), Error);
    EXPECT_THROW(usable_packet_size(0), Error);
    EXPECT_THROW(usable_packet_size(65508), Error);
    EXPECT_THROW(usable_packet_size(SIZE_MAX), Error);
}

TEST(HeapLayout, KeepsRoomForPayloadBesideThePointers) {
    EXPECT_EQ(max_pointers(56), 1U);
    EXPECT_EQ(max_pointers(64), 2U);
    EXPECT_EQ(max_pointers(1472), 178U);
}

TEST(HeapLayout, AsksForEightBytesOfPayloadPerPacketOfPointers) {
    EXPECT_EQ(min_payload(0, 178), 1U);
    EXPECT_EQ(min_payload(177, 178), 1U);
    EXPECT_EQ(min_payload(178, 178), 9U);
    EXPECT_EQ(min_payload(5, 1), 41U);
}

}  // namespace
}  // namespace spead::send
