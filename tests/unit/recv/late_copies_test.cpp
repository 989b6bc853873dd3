// SPDX-License-Identifier: BSD-3-Clause
#include "recv/late_copies.hpp"

#include <random>

#include <gtest/gtest.h>

namespace spead::recv::late_copies_test {
namespace {

constexpr std::uint64_t kKept = 1'000'000;

/// Returns a hash, as that of a packet.
std::uint64_t mark(std::uint64_t n) {
    std::mt19937_64 random(n);
    return random();
}

TEST(LateCopies, ACopyOfTheOtherPathIsCountedWithItsDelay) {
    LateCopies copies(kKept);
    copies.placed(0, mark(1), 1000);
    copies.placed(1, mark(1), 5000);
    EXPECT_EQ(copies.count(0), 0U);
    EXPECT_EQ(copies.count(1), 1U);
    EXPECT_EQ(copies.longest(1), 4000U);
    copies.placed(1, mark(2), 6000);
    copies.placed(0, mark(2), 6100);
    EXPECT_EQ(copies.count(0), 1U) << "either may be behind";
    EXPECT_EQ(copies.longest(0), 100U);
    copies.placed(0, mark(3), 7000);
    copies.again(1, mark(3), 7100);
    EXPECT_EQ(copies.count(1), 1U) << "it was known as a copy";
}

TEST(LateCopies, APacketIsForgottenAfterItsTime) {
    LateCopies copies(kKept);
    copies.placed(0, mark(1), 1000);
    copies.placed(1, mark(1), 1001 + kKept);
    EXPECT_EQ(copies.count(1), 0U);
    copies.placed(0, mark(1), 1001 + kKept - 500);
    EXPECT_EQ(copies.count(0), 1U) << "packets that waited have earlier times";
}

TEST(LateCopies, ASenderThatBeginsAnewHasNone) {
    LateCopies copies(kKept);
    copies.placed(0, mark(1), 1000);
    copies.again(1, mark(1), 1100);
    copies.placed(1, mark(1), 50'000);
    copies.again(0, mark(1), 50'100);
    copies.placed(0, mark(1), 90'000);
    copies.again(1, mark(1), 90'100);
    // Its second path had lost the packet of before, and brings the new one first.
    copies.placed(0, mark(2), 1000);
    copies.placed(1, mark(2), 50'000);
    EXPECT_EQ(copies.count(1), 1U);
    copies.again(1, mark(2), 50'050);
    EXPECT_EQ(copies.count(1), 1U) << "a path may repeat packets";
    copies.again(0, mark(2), 50'100);
    EXPECT_EQ(copies.count(0), 0U);
    EXPECT_EQ(copies.count(1), 0U);
}

TEST(LateCopies, CountsNothingIfItKeepsNothing) {
    LateCopies copies(0);
    for (std::uint64_t n = 0; n < 100; n++) {
        copies.placed(0, mark(n), 1000);
        copies.placed(1, mark(n), 2000);
        copies.placed(1, 0, 2000);
        copies.again(0, 0, 2000);
    }
    EXPECT_EQ(copies.count(0) + copies.count(1), 0U);
}

TEST(LateCopies, ManyPacketsAreEstimatedAndFewOnesAreExactAgain) {
    LateCopies copies(kKept);
    constexpr std::uint64_t kPackets = 1'000'000;
    constexpr std::uint64_t kBehind = 200'000;
    // A tenth of them comes too late.
    std::uint64_t late = 0;
    for (std::uint64_t n = 0; n < kPackets; n++) {
        copies.placed(0, mark(n), n);
        if (n < kBehind)
            continue;
        const std::uint64_t copy = n - kBehind;
        if (copy % 10 == 0) {
            copies.placed(1, mark(copy), n);
            late++;
        } else {
            copies.again(1, mark(copy), n);
        }
    }
    EXPECT_GT(copies.count(1), late / 2);
    EXPECT_LT(copies.count(1), late * 2);
    EXPECT_EQ(copies.longest(1), kBehind);
    EXPECT_EQ(copies.count(0), 0U);

    std::uint64_t now = kPackets;
    for (int look = 0; look < 30; look++)
        copies.look(now += kKept + 1);
    const std::uint64_t before = copies.count(1);
    for (std::uint64_t n = kPackets; n < kPackets + 100; n++) {
        copies.placed(0, mark(n), now);
        copies.placed(1, mark(n), now + 1000);
    }
    EXPECT_EQ(copies.count(1) - before, 100U);
}

}  // namespace
}  // namespace spead::recv::late_copies_test
