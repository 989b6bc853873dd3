// SPDX-License-Identifier: BSD-3-Clause
#include "port/impairments.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::port {
namespace {

using spead::test::expect_usage_error;
using testing::ElementsAre;

Impairments parse_impairments(const std::string& text) {
    return Impairments::parse(text, "--impair");
}

TEST(Impairments, AreReadInAnyOrder) {
    EXPECT_EQ(parse_impairments(""), Impairments{});
    const Impairments all = parse_impairments(
        "seed=18446744073709551615,loss=1%,duplicate=0.5%,corrupt=0.001,reorder=10,delay=5ms");
    EXPECT_EQ(all.loss, 0.01);
    EXPECT_EQ(all.duplicate, 0.005);
    EXPECT_EQ(all.corrupt, 0.001);
    EXPECT_EQ(all.reorder, 10U);
    EXPECT_EQ(all.delayed, 1);
    EXPECT_EQ(all.delay, 0.005);
    EXPECT_EQ(all.seed, UINT64_MAX);
    const Impairments some = parse_impairments("delay=2%:1s,loss=0,reorder=0,duplicate=100%,corrupt=1");
    EXPECT_EQ(some.delayed, 0.02);
    EXPECT_EQ(some.delay, 1);
    EXPECT_EQ(some.duplicate, 1);
    EXPECT_EQ(some.corrupt, 1);
    EXPECT_EQ(some.seed, 1U);
}

TEST(Impairments, WhatCannotBeIsRefusedWithWhatCan) {
    for (const char* const text : {"loss",
                                   "loss=",
                                   "loss=-1%",
                                   "loss=101%",
                                   "loss=1.5",
                                   "loss=x",
                                   "loss=nan",
                                   "loss=1 %",
                                   "loss=1%,",
                                   ",loss=1%",
                                   "reorder=1025",
                                   "reorder=-1",
                                   "reorder=1.5",
                                   "delay=11s",
                                   "delay=",
                                   "delay=1%",
                                   "delay=1%:",
                                   "delay=200%:5ms",
                                   "delay=1%:5ms:2",
                                   "seed=-1",
                                   "seed=",
                                   "seed=1x",
                                   "seed=18446744073709551616",
                                   "drop=1%",
                                   "=1"})
        expect_usage_error([&] { parse_impairments(text); }, {"--impair: "});
    expect_usage_error([] { parse_impairments("drop=1%"); },
                       {"`drop`", "loss, duplicate, corrupt, reorder, delay or seed"});
    expect_usage_error([] { parse_impairments("loss=1%,loss=2%"); }, {"`loss` is given twice"});
    expect_usage_error([] { parse_impairments("loss=101%"); }, {"`101%` is not a fraction"});
}

TEST(Impairments, AreTheSameForAllTime) {
    const Impairments i = parse_impairments("loss=1%,duplicate=2%,seed=7");
    std::vector<std::uint64_t> lost;
    for (std::uint64_t n = 0; n < 1000; n++)
        if (fate_of(i, n).lost)
            lost.push_back(n);
    EXPECT_THAT(lost, ElementsAre(83, 110, 192, 202, 318, 515, 576, 622, 629, 657, 739, 883));
    std::vector<std::uint64_t> twice;
    for (std::uint64_t n = 0; n < 300; n++)
        if (fate_of(i, n).duplicated)
            twice.push_back(n);
    EXPECT_THAT(twice, ElementsAre(9, 76, 77, 98, 223, 246, 259));
    EXPECT_EQ(fate_of(i, 0).bit, 0x79C224185EFF603EU);
    EXPECT_EQ(fate_of(Impairments{.seed = 0}, UINT64_MAX).bit, 0x4EE0CFAE77977EFCU);
    std::vector<std::uint32_t> exchanges;
    for (std::uint32_t place = 1; place < 10; place++)
        exchanges.push_back(exchange_of(i, 3, place));
    EXPECT_THAT(exchanges, ElementsAre(0, 2, 3, 4, 1, 4, 3, 8, 1));
}

TEST(Impairments, BefallAsManyAsTheyShouldAndIndependently) {
    const Impairments i = parse_impairments("loss=10%,duplicate=20%,corrupt=30%,delay=40%:1ms,seed=5");
    constexpr double kPackets = 200'000;
    double lost = 0;
    double left = 0;
    double twice = 0;
    double corrupted = 0;
    double delayed = 0;
    double all_three = 0;
    for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(kPackets); n++) {
        const Fate f = fate_of(i, n);
        lost += f.lost;
        if (f.lost) {
            EXPECT_FALSE(f.duplicated || f.corrupted || f.delayed);
            continue;
        }
        left++;
        twice += f.duplicated;
        corrupted += f.corrupted;
        delayed += f.delayed;
        all_three += f.duplicated && f.corrupted && f.delayed;
    }
    // Five standard deviations.
    const auto near = [](double found, double of, double share) {
        return std::abs(found - of * share) < 5 * std::sqrt(of * share * (1 - share));
    };
    EXPECT_TRUE(near(lost, kPackets, 0.1)) << lost;
    EXPECT_TRUE(near(twice, left, 0.2)) << twice;
    EXPECT_TRUE(near(corrupted, left, 0.3)) << corrupted;
    EXPECT_TRUE(near(delayed, left, 0.4)) << delayed;
    EXPECT_TRUE(near(all_three, left, 0.2 * 0.3 * 0.4)) << all_three;
}

TEST(Impairments, OfNoneAndOfAllPackets) {
    for (std::uint64_t n = 0; n < 1000; n++) {
        const Fate none = fate_of(parse_impairments("seed=3"), n);
        EXPECT_FALSE(none.lost || none.duplicated || none.corrupted || none.delayed);
        EXPECT_TRUE(fate_of(parse_impairments("loss=1"), n).lost);
        const Fate all = fate_of(parse_impairments("duplicate=1,corrupt=1,delay=1ms"), n);
        EXPECT_TRUE(all.duplicated && all.corrupted && all.delayed);
    }
}

TEST(Impairments, EveryOrderOfAGroupIsAsLikely) {
    std::map<std::vector<std::uint32_t>, int> orders;
    const Impairments i = parse_impairments("reorder=4,seed=2");
    constexpr int kGroups = 24'000;
    for (std::uint64_t group = 0; group < kGroups; group++) {
        std::vector<std::uint32_t> order{0, 1, 2, 3};
        for (std::uint32_t place = 3; place > 0; place--) {
            ASSERT_LE(exchange_of(i, group, place), place);
            std::swap(order[place], order[exchange_of(i, group, place)]);
        }
        orders[order]++;
    }
    EXPECT_EQ(orders.size(), 24U);
    for (const auto& [order, count] : orders)
        EXPECT_NEAR(count, kGroups / 24, 5 * std::sqrt(kGroups / 24.0));
}

TEST(Impairments, SeedsDiffer) {
    std::set<std::uint64_t> bits;
    for (std::uint64_t seed = 0; seed < 1000; seed++)
        for (std::uint64_t n = 0; n < 10; n++)
            bits.insert(fate_of(Impairments{.seed = seed}, n).bit);
    EXPECT_EQ(bits.size(), 10'000U);
}

}  // namespace
}  // namespace spead::port
