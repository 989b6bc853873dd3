// SPDX-License-Identifier: BSD-3-Clause
#include "wire/flavour.hpp"

#include <gtest/gtest.h>

namespace spead::wire {
namespace {

TEST(Flavour, SevenFlavoursExist) {
    unsigned count = 0;
    for (unsigned bits = 0; bits < 300; ++bits)
        if (Flavour::is_valid(bits)) {
            ++count;
            EXPECT_EQ(bits % 8, 0U);
        }
    EXPECT_EQ(count, 7U);
    EXPECT_TRUE(Flavour::is_valid(8));
    EXPECT_TRUE(Flavour::is_valid(56));
    EXPECT_FALSE(Flavour::is_valid(0));
    EXPECT_FALSE(Flavour::is_valid(64));
}

TEST(Flavour, TheDefaultIs64With40AddressBits) {
    EXPECT_EQ(Flavour{}, Flavour(40));
    EXPECT_EQ(Flavour{}.address_bits(), 40U);
    EXPECT_EQ(Flavour{}.item_id_bits(), 23U);
}

TEST(Flavour, ModeIdAndValueShareThe64Bits) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Flavour flavour(bits);
        EXPECT_EQ(flavour.address_bits() + flavour.item_id_bits(), 63U);
        EXPECT_EQ(flavour.address_bytes(), bits / 8);
        EXPECT_EQ(flavour.make_immediate(flavour.max_id(), flavour.value_mask()), ~0ULL);
        EXPECT_EQ(flavour.make_address(flavour.max_id(), flavour.value_mask()), ~0ULL >> 1);
        EXPECT_EQ(flavour.make_immediate(0, 0), 1ULL << 63);
        EXPECT_EQ(flavour.make_address(1, 0), 1ULL << bits);
    }
}

TEST(Flavour, PointersAreReadBackInEveryFlavour) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Flavour flavour(bits);
        for (const std::uint64_t id :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x55}, flavour.max_id()})
            for (const std::uint64_t value :
                 {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xA5}, flavour.value_mask()}) {
                const std::uint64_t immediate = flavour.make_immediate(id, value);
                EXPECT_TRUE(flavour.is_immediate(immediate));
                EXPECT_EQ(flavour.id(immediate), id);
                EXPECT_EQ(flavour.value(immediate), value);
                const std::uint64_t address = flavour.make_address(id, value);
                EXPECT_FALSE(flavour.is_immediate(address));
                EXPECT_EQ(flavour.id(address), id);
                EXPECT_EQ(flavour.value(address), value);
            }
    }
}

TEST(Flavour, BitsThatDoNotFitAreCutOffAndDisturbNothingElse) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Flavour flavour(bits);
        EXPECT_EQ(flavour.make_address(~0ULL, 0), flavour.make_address(flavour.max_id(), 0));
        EXPECT_EQ(flavour.make_address(0, ~0ULL), flavour.value_mask());
        EXPECT_FALSE(flavour.is_immediate(flavour.make_address(~0ULL, ~0ULL)));
    }
}

TEST(Flavour, KnownPointers) {
    static_assert(Flavour(40).make_immediate(item::kHeapCnt, 1) == 0x8000010000000001);
    static_assert(Flavour(48).make_immediate(item::kStreamCtrl, 2) == 0x8006000000000002);
    static_assert(Flavour(48).make_address(0x1000, 0x20) == 0x1000000000000020);
}

TEST(Flavour, OnlyIdsOneToFourAsImmediatesBelongToThePacket) {
    for (unsigned bits = 8; bits <= 56; bits += 8) {
        const Flavour flavour(bits);
        for (std::uint64_t id = 0; id < 0x80; ++id) {
            EXPECT_EQ(is_packet_special(flavour.make_immediate(id, 3), flavour), id >= 1 && id <= 4) << id;
            EXPECT_FALSE(is_packet_special(flavour.make_address(id, 3), flavour));
        }
    }
}

}  // namespace
}  // namespace spead::wire
