// SPDX-License-Identifier: BSD-3-Clause
#include "config/path_rules.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "config/shards.hpp"
#include "runtime/paths.hpp"

namespace spead::config::path_rules_test {
namespace {

using runtime::Plan;
using runtime::ReceivePlan;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kText = R"(
version = 1
[[port]]
name = "p0"
device = "net_ring0"
[[port]]
name = "p1"
device = "net_ring1"
[[receive]]
name = "s0"
paths = ["p0", "p1"]
endpoints = ["239.1.2.3+1:7148"]
)";

std::string refusal(const std::string& more) {
    try {
        parse_text(kText + more, "plan.toml");
    } catch (const UsageError& e) {
        return e.what();
    }
    return "accepted";
}

TEST(PathRules, APlanOfTwoPathsHasTheFirstOnesPortAndRoomForTheSkew) {
    const Plan plan = parse_text(kText, "plan.toml");
    const ReceivePlan& r = plan.receives[0];
    EXPECT_EQ(r.port, "p0");
    EXPECT_THAT(r.paths, ElementsAre("p0", "p1"));
    EXPECT_EQ(r.max_live, runtime::kPathLive);
    EXPECT_EQ(r.history, runtime::kPathHistory);
    EXPECT_EQ(r.path_skew, 0.05);
    EXPECT_EQ(runtime::endpoints_of(r, 1), r.endpoints);
    EXPECT_EQ(parse_text(to_toml(plan), ""), plan) << "as it is printed";
}

TEST(PathRules, WhatIsSaidStays) {
    const Plan plan = parse_text(std::string(kText) + R"(
path_endpoints = ["239.9.0.1:7000", "239.9.0.7:7001"]
path_skew = "200ms"
[receive.heaps]
max_live = 4
history = 100
)",
                                 "");
    const ReceivePlan& r = plan.receives[0];
    EXPECT_EQ(r.max_live, 4U);
    EXPECT_EQ(r.history, 100U);
    EXPECT_EQ(r.path_skew, 0.2);
    ASSERT_EQ(runtime::endpoints_of(r, 1).size(), 2U);
    EXPECT_EQ(to_string(runtime::endpoints_of(r, 1)[1]), "239.9.0.7:7001");
    EXPECT_EQ(parse_text(to_toml(plan), ""), plan);
}

TEST(PathRules, TheHistorysTimeFollowsTheSkewUnlessItIsSaid) {
    const auto time = [](const std::string& more) {
        return parse_text(kText + more, "").receives[0].history_time;
    };
    EXPECT_EQ(time(""), 1);
    EXPECT_EQ(time("path_skew = \"600ms\"\n"), 1.2);
    EXPECT_EQ(time("path_skew = 3\n"), 6);
    EXPECT_EQ(time("path_skew = \"3s\"\n[receive.heaps]\nhistory_time = \"3s\"\n"), 3);
    EXPECT_EQ(time("path_skew = \"1000000000s\"\n"), 1e9);
    EXPECT_THAT(refusal("path_skew = \"soon\"\n"), HasSubstr("`soon`"));
    EXPECT_THAT(refusal("path_skew = -1\n"), HasSubstr("path_skew"));
}

TEST(PathRules, RefuseWhatTwoPathsCannotHave) {
    EXPECT_THAT(refusal("in_order = true\n"), HasSubstr("leave out `in_order`"));
    EXPECT_THAT(refusal("stop_on_stop_item = true\n"), HasSubstr("exit_on_stop"));
    EXPECT_THAT(refusal("path_endpoints = [\"239.9.0.1:7000\"]\n"),
                HasSubstr("2 endpoints, and the second has 1"));
    EXPECT_THAT(refusal("path_skew = \"2s\"\n[receive.heaps]\nhistory_time = \"1s\"\n"),
                HasSubstr("raise `history_time`"));
    EXPECT_THAT(refusal("[receive.heaps]\nhistory = 0\n"), HasSubstr("would be another heap"));
    EXPECT_THAT(refusal("[receive.heaps]\ntimeout = \"10ms\"\n"), HasSubstr("raise `timeout`"));
    EXPECT_THAT(refusal("[receive.heaps]\ngather = \"cpu\"\n"), HasSubstr("leave out `gather`"));
    for (const std::string port : {"p0", "p1"})
        EXPECT_THAT(refusal("port = \"" + port + "\"\n"),
                    HasSubstr("plan.toml:13:8: stream `s0` has both `port` and `paths`; leave out `port`"));
    EXPECT_THAT(refusal("[[receive]]\nname = \"s1\"\nport = \"p1\"\nendpoints = [\"239.1.2.4:7000\"]\n"
                        "path_skew = \"50ms\"\n"),
                HasSubstr("stream `s1` has one path; name both ports in `paths`"));
    EXPECT_THAT(refusal("[[receive]]\nname = \"s1\"\nport = \"p1\"\nendpoints = [\"239.1.2.4:7148\"]\n"),
                HasSubstr("already received by stream `s0`"));
    EXPECT_EQ(refusal(""), "accepted");
    EXPECT_EQ(refusal("[[receive]]\nname = \"s1\"\nport = \"p1\"\npaths = []\nendpoints = "
                      "[\"239.1.2.4:7000\"]\n"),
              "accepted")
        << "an empty list names no paths";
}

Plan with_paths(const std::string& paths) {
    std::string text = kText;
    const std::string there = "[\"p0\", \"p1\"]";
    return parse_text(text.replace(text.find(there), there.size(), paths), "");
}

TEST(PathRules, WantTwoPortsThatExistOrTwoGroups) {
    const auto refused = [](const std::string& paths) {
        try {
            with_paths(paths);
        } catch (const UsageError& e) {
            return std::string(e.what());
        }
        return std::string("accepted");
    };
    EXPECT_THAT(refused("[\"p0\"]"), HasSubstr("has 1 path;"));
    EXPECT_THAT(refused("[\"p0\", \"p1\", \"p0\"]"), HasSubstr("has 3 paths;"));
    EXPECT_THAT(refused("[\"p0\", \"p7\"]"), HasSubstr("there is no port `p7`"));
    EXPECT_THAT(refused("[\"p7\", \"p0\"]"), HasSubstr("there is no port `p7`"));
    EXPECT_THAT(refused("[\"p0\", \"p0\"]"), HasSubstr("give `path_endpoints`"));
    EXPECT_THAT(refused("[]"), HasSubstr("[[receive]] has no `port`"));
}

TEST(PathRules, BothPathsOfAnEndpointGoToItsShard) {
    const Plan plan = parse_text(std::string(kText) + "path_endpoints = [\"239.9.0.1+1:7000\"]\n", "");
    for (std::uint32_t shard = 0; shard < 2; shard++) {
        const Plan mine = plan_of_shard(plan, {shard, 2}, {});
        ASSERT_EQ(mine.receives.size(), 1U);
        EXPECT_EQ(to_string(mine.receives[0].endpoints[0]), shard == 0 ? "239.1.2.3:7148" : "239.1.2.4:7148");
        ASSERT_EQ(mine.receives[0].path_endpoints.size(), 1U);
        EXPECT_EQ(to_string(mine.receives[0].path_endpoints[0]),
                  shard == 0 ? "239.9.0.1:7000" : "239.9.0.2:7000");
    }
}

}  // namespace
}  // namespace spead::config::path_rules_test
