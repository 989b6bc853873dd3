// SPDX-License-Identifier: BSD-3-Clause
#include "base/verify_sequence.hpp"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"

namespace spead {
namespace {

/// Returns the first `words` words, made the plain way.
std::vector<std::byte> reference(std::size_t words) {
    std::minstd_rand generator(1);
    std::vector<std::byte> bytes(words * 4);
    for (std::size_t i = 0; i < words; i++)
        store_be32(bytes.data() + i * 4, static_cast<std::uint32_t>(generator()));
    return bytes;
}

TEST(VerifySequence, WordsAreThoseOfMinstdRand) {
    std::minstd_rand generator(1);
    for (std::uint64_t i = 0; i < 100000; i++)
        ASSERT_EQ(verify_word(i), generator()) << "word " << i;
}

TEST(VerifySequence, AJumpLandsWhereDiscardLands) {
    for (const std::uint64_t index :
         {0ull, 1ull, 255ull, 256ull, 65535ull, 65536ull, 1000003ull, 16777216ull, 16777217ull}) {
        std::minstd_rand generator(1);
        generator.discard(index);
        EXPECT_EQ(verify_word(index), generator()) << "word " << index;
    }
}

TEST(VerifySequence, RepeatsAfterItsPeriod) {
    // The last word of the period is the one whose successor is word 0: 48271 ^ (2^31-2) = 1.
    EXPECT_EQ(verify_word(kVerifyPeriod - 1), 1u);
    EXPECT_EQ(verify_word(kVerifyPeriod), 48271u);
    EXPECT_EQ(verify_word(kVerifyPeriod + 5), verify_word(5));
    EXPECT_EQ(verify_word(UINT64_MAX), verify_word(UINT64_MAX % kVerifyPeriod));
}

TEST(VerifySequence, GeneratesBigEndianWords) {
    const std::vector<std::byte> expected = reference(1000);
    std::vector<std::byte> made(expected.size());
    verify_generate(made, 0);
    EXPECT_EQ(made, expected);
    // 48271 = 0x0000BC8F
    EXPECT_EQ(made[0], std::byte{0x00});
    EXPECT_EQ(made[2], std::byte{0xBC});
    EXPECT_EQ(made[3], std::byte{0x8F});
}

TEST(VerifySequence, AnyStretchOfBytesCanBeGenerated) {
    const std::vector<std::byte> expected = reference(200);
    for (std::size_t offset = 0; offset < 70; offset++)
        for (std::size_t size : {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 300}) {
            // Guard bytes on both sides show a write outside the buffer.
            std::vector<std::byte> made(size + 2, std::byte{0xEE});
            verify_generate(std::span(made).subspan(1, size), 0, offset);
            ASSERT_EQ(std::memcmp(made.data() + 1, expected.data() + offset, size), 0)
                << offset << "+" << size;
            ASSERT_EQ(made.front(), std::byte{0xEE}) << offset << "+" << size;
            ASSERT_EQ(made.back(), std::byte{0xEE}) << offset << "+" << size;
        }
}

TEST(VerifySequence, AnyStretchOfBytesIsCheckedRight) {
    const std::vector<std::byte> bytes = reference(1200);
    for (std::size_t offset = 0; offset < 9; offset++)
        for (std::size_t size : {0, 1, 2, 3, 4, 5, 64, 1023, 1024, 1025, 2048, 4000})
            ASSERT_EQ(verify_check(std::span(bytes).subspan(offset, size), 0, offset), size)
                << offset << "+" << size;
}

TEST(VerifySequence, FirstWordAndByteOffsetAddUp) {
    std::vector<std::byte> one(500);
    std::vector<std::byte> other(500);
    verify_generate(one, 1000, 11);
    verify_generate(other, 1002, 3);
    EXPECT_EQ(one, other);
    EXPECT_EQ(verify_check(one, 1001, 7), one.size());
}

TEST(VerifySequence, EveryWrongBitIsFoundAtItsByte) {
    std::vector<std::byte> bytes(2500);
    for (const std::size_t offset : {0, 1, 2, 3}) {
        verify_generate(bytes, 77, offset);
        for (std::size_t at = 0; at < bytes.size(); at += at < 140 ? 1 : 97)
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[at] ^= std::byte{1} << bit;
                ASSERT_EQ(verify_check(bytes, 77, offset), at);
                bytes[at] ^= std::byte{1} << bit;
            }
        bytes.back() ^= std::byte{1};
        ASSERT_EQ(verify_check(bytes, 77, offset), bytes.size() - 1);
    }
}

TEST(VerifySequence, AWrongByteThatWouldFitTheNextWordIsStillWrong) {
    std::vector<std::byte> bytes(64);
    verify_generate(bytes, 77, 1);
    ASSERT_NE(bytes[1], bytes[3]);
    bytes[1] = bytes[3];  // 3 is where the next word begins
    EXPECT_EQ(verify_check(bytes, 77, 1), 1u);
}

TEST(VerifySequence, TheFirstOfSeveralWrongBytesIsReported) {
    std::vector<std::byte> bytes(3000);
    verify_generate(bytes, 0);
    bytes[1500] ^= std::byte{1};
    bytes[2900] ^= std::byte{1};
    EXPECT_EQ(verify_check(bytes, 0), 1500u);
}

TEST(VerifySequence, CrossesTheEndOfThePeriod) {
    std::vector<std::byte> bytes(400);
    verify_generate(bytes, kVerifyPeriod - 10, 2);
    const std::vector<std::byte> start = reference(90);
    EXPECT_EQ(std::memcmp(bytes.data() + 38, start.data(), 360), 0);
    EXPECT_EQ(verify_check(bytes, kVerifyPeriod - 10, 2), bytes.size());
}

TEST(VerifySequence, AnOffsetNearTheEndOf64BitsIsReduced) {
    std::vector<std::byte> far(64);
    verify_generate(far, UINT64_MAX, UINT64_MAX);
    const std::uint64_t word = (UINT64_MAX % kVerifyPeriod + UINT64_MAX / 4 % kVerifyPeriod) % kVerifyPeriod;
    std::vector<std::byte> near(64);
    verify_generate(near, word, 3);
    EXPECT_EQ(far, near);
}

TEST(VerifyHeapStart, HeapsFollowEachOther) {
    EXPECT_EQ(verify_heap_start(1, 1000), 0u);
    EXPECT_EQ(verify_heap_start(2, 1000), 1000u);
    EXPECT_EQ(verify_heap_start(1001, 1048576), 1048576000u);
}

TEST(VerifyHeapStart, LargeCountsAreReducedNotOverflowed) {
    // (2^48 - 1) * 2^30 mod (2^31 - 2), computed with 128-bit arithmetic.
    __extension__ using Wide = unsigned __int128;
    for (const std::uint64_t count : {std::uint64_t{1} << 48, std::uint64_t{1} << 56, UINT64_MAX})
        for (const std::uint64_t words :
             {std::uint64_t{1}, std::uint64_t{1} << 30, (std::uint64_t{1} << 54) - 1}) {
            const auto expected = static_cast<std::uint64_t>(Wide{count - 1} * words % kVerifyPeriod);
            EXPECT_EQ(verify_heap_start(count, words), expected) << count << " " << words;
        }
}

TEST(VerifyHeapStart, HeapCountZeroLiesOneHeapBeforeTheStart) {
    EXPECT_EQ(verify_heap_start(0, 1000), kVerifyPeriod - 1000);
}

}  // namespace
}  // namespace spead
