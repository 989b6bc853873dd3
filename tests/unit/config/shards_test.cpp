// SPDX-License-Identifier: BSD-3-Clause
#include "config/shards.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::Plan;
using runtime::ReceivePlan;
using runtime::ShardDeal;
using runtime::ShardScope;
using testing::ElementsAre;
using testing::HasSubstr;

Plan plan_of_streams(const std::vector<ReceivePlan>& streams) {
    Plan plan;
    plan.ports.push_back({"p0", "net_ring0", 0});
    plan.receives = streams;
    return plan;
}

ReceivePlan stream_of(int number, std::size_t endpoints, double rate = 0) {
    ReceivePlan r =
        test::receive_plan(fmt::format("s{}", number),
                           endpoints == 1 ? fmt::format("239.{}.0.0:7148", number)
                                          : fmt::format("239.{}.0.0+{}:7148", number, endpoints - 1));
    r.expected_rate = rate;
    return r;
}

TEST(Shards, AStreamIsDealtInBlocksOfNeighboursInTheOrderOfTheFile) {
    EXPECT_THAT(deal(plan_of_streams({stream_of(1, 8)}), 3),
                ElementsAre(ElementsAre(0, 0, 0, 1, 1, 1, 2, 2)));
}

TEST(Shards, InTurnMeansTheIndexModuloTheNumberOfShards) {
    ReceivePlan r = stream_of(1, 8);
    r.deal = ShardDeal::round_robin;
    EXPECT_THAT(deal(plan_of_streams({r}), 3), ElementsAre(ElementsAre(0, 1, 2, 0, 1, 2, 0, 1)));
}

TEST(Shards, FourStreamsOfOneEndpointGiveFourShardsOneEach) {
    const Plan plan = plan_of_streams({stream_of(1, 1), stream_of(2, 1), stream_of(3, 1), stream_of(4, 1)});
    EXPECT_THAT(deal(plan, 4), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

TEST(Shards, WhatIsLeftGoesWhereTheExpectedRateIsSmallest) {
    // 5 endpoints to 2 shards: shard 0 has one more. The next heavy one goes to shard 1, the light ones to 0.
    const Plan plan = plan_of_streams(
        {stream_of(1, 5, 5e6), stream_of(2, 1, 9e6), stream_of(3, 1, 1e6), stream_of(4, 1, 1e6)});
    EXPECT_THAT(deal(plan, 2),
                ElementsAre(ElementsAre(0, 0, 0, 1, 1), ElementsAre(1), ElementsAre(0), ElementsAre(0)));
}

TEST(Shards, AnEndpointWithoutARateCountsAsTheMeanOfThoseWithOne) {
    // Mean: (8 + 2) / 2 = 5. Loads 8, 2 + 5, then 7 + 5 against 8.
    const Plan plan = plan_of_streams(
        {stream_of(1, 1, 8e6), stream_of(2, 1, 2e6), stream_of(3, 1), stream_of(4, 1), stream_of(5, 1)});
    EXPECT_THAT(deal(plan, 2),
                ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(1), ElementsAre(1), ElementsAre(0)));
}

TEST(Shards, AWholeStreamGoesToOneAndAnotherToAll) {
    ReceivePlan whole = stream_of(1, 4);
    whole.shard = ShardScope::stream;
    ReceivePlan every = stream_of(2, 2);
    every.shard = ShardScope::all;
    const Plan plan = plan_of_streams({whole, every, stream_of(3, 1)});
    EXPECT_THAT(deal(plan, 2),
                ElementsAre(ElementsAre(0, 0, 0, 0), ElementsAre(kEveryShard, kEveryShard), ElementsAre(1)));
    EXPECT_EQ(plan_of_shard(plan, {1, 2}).receives.size(), 2U);
    EXPECT_EQ(plan_of_shard(plan, {1, 2}).shard.endpoints, 5U) << "those that every shard has do not count";
}

TEST(Shards, AssignedEndpointsComeFirstAndTheRestGoesWhereLessIs) {
    ReceivePlan last = stream_of(2, 3);
    last.assign = {"239.2.0.1+1:7148=0"};
    const Plan plan = plan_of_streams({stream_of(1, 1), last});
    EXPECT_THAT(deal(plan, 2), ElementsAre(ElementsAre(1), ElementsAre(1, 0, 0)));
}

TEST(Shards, AStreamAtTheEndOfTheFileMovesNoOther) {
    std::mt19937 random(7);
    std::vector<ReceivePlan> streams;
    Dealt before;
    for (int i = 1; i <= 40; i++) {
        streams.push_back(stream_of(i, 1 + random() % 9, 1e6 * static_cast<double>(1 + random() % 5)));
        streams.back().shard = random() % 4 == 0 ? ShardScope::stream : ShardScope::endpoints;
        Dealt now = deal(plan_of_streams(streams), 7);
        const Dealt after = now;
        now.pop_back();
        EXPECT_EQ(now, before) << i;
        before = after;
    }
}

/// Makes a stream at random, some with `assign` (to shard 0, which is always there).
ReceivePlan random_stream(std::mt19937& random, int number) {
    const bool with_rate = random() % 2 == 0;
    ReceivePlan r = stream_of(number, 1 + random() % (random() % 5 == 0 ? 300 : 12),
                              with_rate ? static_cast<double>(random() % 1000000) : 0);
    r.shard = static_cast<ShardScope>(random() % 4 == 0 ? 1 + random() % 2 : 0);
    r.deal = static_cast<ShardDeal>(random() % 2);
    if (r.shard == ShardScope::endpoints && random() % 3 == 0)
        for (std::size_t k = 0; k < r.endpoints.size(); k++)
            if (random() % 4 == 0)
                r.assign.push_back(to_string(r.endpoints[k]) + "=0");
    return r;
}

/// Checks that the shards' plans hold each endpoint of the stream as often as its scope says.
void check_once(const Plan& plan, std::uint32_t count) {
    std::map<Endpoint, std::uint32_t> times;
    std::map<std::string, std::uint32_t> shards_with;
    double rate = 0;
    std::uint64_t counted = 0;
    for (std::uint32_t i = 0; i < count; i++) {
        const Plan mine = plan_of_shard(plan, {i, count});
        ASSERT_EQ(mine.shard.index, i);
        for (const ReceivePlan& r : mine.receives) {
            ASSERT_FALSE(r.endpoints.empty());
            shards_with[r.name]++;
            for (const Endpoint& e : r.endpoints)
                times[e]++;
            rate += r.shard == ShardScope::all ? 0 : r.expected_rate;
            counted += r.shard == ShardScope::all ? 0 : r.endpoints.size();
            std::vector<Endpoint> from_texts;
            for (const std::string& text : r.endpoint_texts)
                for (const Endpoint& e : parse_endpoints(text))
                    from_texts.push_back(e);
            ASSERT_EQ(from_texts, r.endpoints);
        }
        ASSERT_EQ(mine.shard.endpoints, plan_of_shard(plan, {0, count}).shard.endpoints);
        if (i + 1 == count) {
            ASSERT_EQ(counted, mine.shard.endpoints);
        }
    }
    double all_rates = 0;
    for (const ReceivePlan& r : plan.receives) {
        const bool all = r.shard == ShardScope::all;
        all_rates += all ? 0 : r.expected_rate;
        for (const Endpoint& e : r.endpoints)
            ASSERT_EQ(times[e], all ? count : 1) << r.name << " " << to_string(e) << " of " << count;
        if (r.shard == ShardScope::stream) {
            ASSERT_EQ(shards_with[r.name], 1U);
        }
    }
    ASSERT_NEAR(rate, all_rates, 1e-6 * (1 + all_rates));
}

TEST(Shards, EveryEndpointIsInExactlyOneShardForEveryNumberOfThem) {
    std::mt19937 random(20261125);
    for (std::uint32_t count = 1; count <= 200; count++) {
        std::vector<ReceivePlan> streams;
        for (int i = 1, n = 1 + static_cast<int>(random() % 12); i <= n; i++)
            streams.push_back(random_stream(random, i));
        SCOPED_TRACE(fmt::format("{} streams, {} shards", streams.size(), count));
        ASSERT_NO_FATAL_FAILURE(check_once(plan_of_streams(streams), count));
    }
}

TEST(Shards, SizesDifferByAtMostOneInAStreamAndInAPlanOfEqualEndpoints) {
    std::mt19937 random(3);
    for (std::uint32_t count = 1; count <= 200; count++) {
        std::vector<std::size_t> all(count);
        std::vector<ReceivePlan> streams;
        for (int i = 1; i <= 6; i++)
            streams.push_back(stream_of(i, 1 + random() % 40));
        for (const std::vector<std::uint32_t>& shards : deal(plan_of_streams(streams), count)) {
            std::vector<std::size_t> sizes(count);
            for (const std::uint32_t shard : shards) {
                sizes[shard]++;
                all[shard]++;
            }
            EXPECT_LE(std::ranges::max(sizes) - std::ranges::min(sizes), 1U);
            EXPECT_TRUE(std::ranges::is_sorted(shards));
        }
        EXPECT_LE(std::ranges::max(all) - std::ranges::min(all), 1U) << count;
    }
}

TEST(Shards, RatesBeyondEveryNetworkAreDealtToo) {
    std::vector<ReceivePlan> streams;
    for (int i = 1; i <= 60; i++) {
        streams.push_back(stream_of(i, 4096, 1e15));
        streams.back().shard = i % 2 == 0 ? ShardScope::stream : ShardScope::endpoints;
    }
    for (const std::vector<std::uint32_t>& shards : deal(plan_of_streams(streams), 3))
        EXPECT_LT(std::ranges::max(shards), 3U);
}

TEST(Shards, AShardWithoutStreamsWaitsAndIsSaidToReceiveNothing) {
    Plan plan = plan_of_streams({stream_of(1, 1)});
    plan.end = {10, 5, 2, true};
    const Plan mine = plan_of_shard(plan, {1, 2});
    EXPECT_TRUE(mine.receives.empty());
    EXPECT_TRUE(mine.runtime.live);
    EXPECT_EQ(mine.end, plan.end) << "a change of it would be refused when streams come";
    EXPECT_NO_THROW(validate(mine));
    EXPECT_EQ(describe_shard(mine, plan), "shard 1/2 receives nothing: the plan has 1 endpoint for 2 shards");
    EXPECT_EQ(describe_shard(plan_of_shard(plan, {0, 2}), plan),
              "shard 0/2: 1 of 1 endpoint, in 1 of 1 stream");
}

TEST(Shards, APlanSavedByAShardIsTheSameInEveryShard) {
    ReceivePlan r = stream_of(1, 5, 10e6);
    r.assign = {"239.1.0.4:7148=0"};
    const Plan plan = plan_of_streams({r, stream_of(2, 2)});
    const Plan mine = plan_of_shard(plan, {0, 3});
    EXPECT_DOUBLE_EQ(mine.receives.front().expected_rate, 4e6);
    EXPECT_THAT(mine.receives.front().endpoint_texts, ElementsAre("239.1.0.0:7148", "239.1.0.4:7148"));
    const Plan saved = parse_text(to_toml(as_whole(mine)), "saved");
    for (std::uint32_t i = 0; i < 5; i++) {
        Plan again = plan_of_shard(saved, {i, 5});
        again.shard = {};
        EXPECT_EQ(again, saved);
    }
    EXPECT_EQ(as_whole(plan), plan);
}

TEST(Shards, TextsOfShardsAreReadOrRefusedInWords) {
    EXPECT_EQ(parse_shard("0/1"), (Shard{0, 1}));
    EXPECT_EQ(parse_shard("4095/4096"), (Shard{4095, 4096}));
    EXPECT_EQ(to_string(parse_shard("2/3")), "2/3");
    EXPECT_THAT(test::refusal([] { parse_shard("3/3", "--shard"); }),
                HasSubstr("--shard: there is no shard 3 of 3: shards count from 0, so give 0/3 to 2/3"));
    EXPECT_THAT(test::refusal([] { parse_shard("3", "--shard"); }), HasSubstr("give I/N"));
    for (const char* text :
         {"", "/", "0/", "/3", "0/0", "1/0", "-1/3", "0/-3", "0/4097", "0/99999999999999999999",
          "99999999999999999999/3", "a/b", "0/3/4", "0x0/3", "0 /3", "0/3 ", "1.0/3", "\xff/3"})
        EXPECT_THROW(parse_shard(text), UsageError) << text;
    EXPECT_THROW(parse_shard_count("0"), UsageError);
    EXPECT_THROW(parse_shard_count("4097"), UsageError);
}

TEST(Shards, WrongAssignmentsAreRefusedWithTheirPlace) {
    const auto refused = [](const std::vector<std::string>& assign,
                            ShardScope scope = ShardScope::endpoints) {
        Plan plan = plan_of_streams({stream_of(1, 3)});
        plan.receives.front().assign = assign;
        plan.receives.front().shard = scope;
        return test::refusal(
            [&] { validate(plan, [](std::string_view path) { return std::string(path); }); });
    };
    EXPECT_THAT(refused({"239.1.0.0:7148=0", "239.9.0.0:7148=0"}),
                HasSubstr("receive[0].assign[1]: stream `s1` has no endpoint 239.9.0.0:7148"));
    EXPECT_THAT(refused({"239.1.0.0+1:7148=0", "239.1.0.1:7148=1"}),
                HasSubstr("239.1.0.1:7148 is assigned twice"));
    EXPECT_THAT(refused({"239.1.0.0:7148"}), HasSubstr("give ENDPOINT=SHARD"));
    EXPECT_THAT(refused({"239.1.0.0:7148=0"}, ShardScope::all), HasSubstr("stay together"));
    for (const char* text : {"", "=", "=0", "239.1.0.0:7148=", "239.1.0.0:7148=-1", "239.1.0.0:7148=4096",
                             "239.1.0.0:7148=x", "nonsense=0"})
        EXPECT_NE(refused({text}), "") << text;
    EXPECT_EQ(refused({" 239.1.0.0+2:7148 = 4095"}), "");
}

TEST(Shards, AnAssignmentToAShardThatThereIsNotIsRefused) {
    Plan plan = plan_of_streams({stream_of(1, 3)});
    plan.receives.front().assign = {"239.1.0.0:7148=2"};
    EXPECT_NO_THROW(deal(plan, 3));
    EXPECT_THAT(test::refusal([&] { deal(plan, 2); }),
                HasSubstr("stream `s1` assigns 239.1.0.0:7148 to shard 2, and there are 2 shards, 0 to 1"));
}

}  // namespace
}  // namespace spead::config
