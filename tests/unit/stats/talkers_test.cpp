// SPDX-License-Identifier: BSD-3-Clause
#include "stats/talkers.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace spead::stats {
namespace {

std::uint64_t sum(const Talkers& t) {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < t.size(); i++)
        all += t[i].packets;
    return all;
}

const Talkers::Entry* find(const std::vector<Talkers::Entry>& all, std::uint32_t source) {
    for (const Talkers::Entry& e : all)
        if (e.source == source)
            return &e;
    return nullptr;
}

std::vector<Talkers::Entry> entries(const Talkers& t) {
    std::vector<Talkers::Entry> all;
    for (std::size_t i = 0; i < t.size(); i++)
        all.push_back(t[i]);
    return all;
}

TEST(Talkers, FewSendersAreCountedExactlyByStream) {
    Talkers t;
    t.add(1, 0, 5);
    t.add(2, 0, 7);
    t.add(1, 3, 11);
    t.add(1, 0, 13);
    t.add_others(4);
    ASSERT_EQ(t.size(), 3U);
    EXPECT_EQ(t[0].source, 1U);
    EXPECT_EQ(t[0].lane, 0U);
    EXPECT_EQ(t[0].packets, 18U);
    EXPECT_EQ(t[1].packets, 7U);
    EXPECT_EQ(t[2].lane, 3U);
    EXPECT_EQ(t[2].packets, 11U);
    EXPECT_EQ(t[2].excess, 0U);
    EXPECT_EQ(t.others(), 4U);
}

TEST(Talkers, HostileSendersNeitherGrowTheTableNorHideWhoSendsMost) {
    Talkers t;
    std::mt19937 random(1);
    std::uint64_t added = 0;
    std::uint64_t of_seven = 0;
    for (int i = 0; i < 100000; i++) {
        // Every fifth packet is of one sender, the others are of a new address each time.
        const bool seven = i % 5 == 0;
        t.add(seven ? 7 : static_cast<std::uint32_t>(random()) | 0x80000000U, 0, 1);
        added++;
        of_seven += seven;
        ASSERT_LE(t.size(), Talkers::kEntries);
    }
    EXPECT_EQ(sum(t), added) << "the entries add up to all";
    const auto all = entries(t);
    const Talkers::Entry* const seven = find(all, 7);
    ASSERT_NE(seven, nullptr);
    EXPECT_GE(seven->packets, of_seven);
    EXPECT_LE(seven->packets - seven->excess, of_seven);
}

TEST(Talkers, ANewcomerInheritsWhatItMayHaveSent) {
    Talkers t;
    for (std::uint32_t i = 0; i < Talkers::kEntries; i++)
        t.add(i, 0, 10 + i);
    t.add(1000, 2, 3);
    const auto all = entries(t);
    EXPECT_EQ(find(all, 0), nullptr) << "who had sent least has gone";
    const Talkers::Entry* const newcomer = find(all, 1000);
    ASSERT_NE(newcomer, nullptr);
    EXPECT_EQ(newcomer->packets, 13U);
    EXPECT_EQ(newcomer->excess, 10U);
    EXPECT_EQ(newcomer->lane, 2U);
}

TEST(Talkers, PacketsOfALaneThatIsNoMoreAreOfNoStream) {
    Talkers t;
    t.add(1, 0, 5);
    t.add(1, 3, 7);
    t.add(1, Talkers::kNoLane, 11);
    t.add(2, 3, 13);
    t.forget_lane(3);
    const auto all = entries(t);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(sum(t), 36U);
    for (const Talkers::Entry& e : all)
        EXPECT_EQ(e.packets, e.source == 2 ? 13U : e.lane == 0 ? 5U : 18U) << e.source << " " << e.lane;
    t.add(1, 3, 2);
    EXPECT_EQ(t.size(), 4U) << "another lane under the number has entries of its own";
}

}  // namespace
}  // namespace spead::stats
