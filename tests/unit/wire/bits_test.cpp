// SPDX-License-Identifier: BSD-3-Clause
#include "wire/bits.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "frames.hpp"

namespace spead::wire {
namespace {

TEST(Bits, TheMostSignificantBitComesFirst) {
    const test::Bytes bytes = test::from_hex("80 01 ff 5a");
    EXPECT_EQ(read_bits(bytes.data(), 0, 1), 1U);
    EXPECT_EQ(read_bits(bytes.data(), 1, 14), 0U);
    EXPECT_EQ(read_bits(bytes.data(), 15, 1), 1U);
    EXPECT_EQ(read_bits(bytes.data(), 4, 12), 1U);
    EXPECT_EQ(read_bits(bytes.data(), 20, 8), 0xF5U);
    EXPECT_EQ(read_bits(bytes.data(), 0, 32), 0x8001FF5AU);
    EXPECT_EQ(read_bits(bytes.data(), 31, 0), 0U);
}

TEST(Bits, SixtyFourBitsMayStartAnywhere) {
    const test::Bytes bytes = test::from_hex("01 2345 6789 abcd ef01");
    EXPECT_EQ(read_bits(bytes.data(), 0, 64), 0x0123456789ABCDEFU);
    EXPECT_EQ(read_bits(bytes.data(), 4, 64), 0x123456789ABCDEF0U);
    EXPECT_EQ(read_bits(bytes.data(), 8, 64), 0x23456789ABCDEF01U);
}

TEST(Bits, FieldsOfAnyWidthAreReadBackWithoutDisturbingEachOther) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 2000; ++round) {
        struct Entry {
            std::uint64_t at;
            unsigned bits;
            std::uint64_t value;
        };
        std::vector<Entry> entries;
        std::uint64_t at = 0;
        for (int i = 0; i < 20; ++i) {
            const unsigned bits = static_cast<unsigned>(random() % 65);
            entries.push_back({at, bits, bits == 0 ? 0 : random() >> (64 - bits)});
            at += bits;
        }
        test::Bytes bytes((at + 7) / 8);
        for (const Entry& entry : entries)
            write_bits(bytes.data(), entry.at, entry.bits, entry.value);
        const test::ExactCopy exact(bytes);
        for (const Entry& entry : entries)
            ASSERT_EQ(read_bits(exact.data(), entry.at, entry.bits), entry.value);
    }
}

TEST(Bits, BitsOfTheValueAboveTheFieldAreNotStored) {
    test::Bytes bytes(2);
    write_bits(bytes.data(), 6, 4, ~0ULL);
    EXPECT_EQ(bytes, test::from_hex("03c0"));
}

}  // namespace
}  // namespace spead::wire
