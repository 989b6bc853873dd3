// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_json.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/app/fleet/hosts.hpp"

namespace spead::app {
namespace {

using spead::test::host;
using std::chrono::seconds;

constexpr HostStates::Clock::time_point kStart{};

TEST(FleetJson, ShowsTheWorstFirst) {
    std::vector<HostLook> now{host("ok:1", "0/4", 2), host("losing:1", "1/4", 2, 5),
                              host("problem:1", "2/4", 1), no_look_at({"silent:1", "3/4"}, "Timeout")};
    std::vector<HostLook> before = now;
    before[1].heaps_lost = 2;
    now[2].findings = {
        {.where = "vis", .cause = "late", .stage = "window", .what = "came late", .cures = {"raise it"}}};
    HostStates states;
    states.take(before, now, kStart);
    const observe::Json json =
        fleet_json(before, now, states.take(before, now, kStart + seconds(3)), kStart + seconds(3));
    EXPECT_EQ(json["processes"], 4);
    EXPECT_EQ(json["answer"], 3);
    EXPECT_EQ(json["bytes_per_second"], 3e9);
    ASSERT_EQ(json["hosts"].size(), 4U);
    const char* const addresses[] = {"silent:1", "problem:1", "losing:1", "ok:1"};
    const char* const words[] = {"no answer", "problem", "losing", "ok"};
    for (std::size_t i = 0; i < 4; i++) {
        EXPECT_EQ(json["hosts"][i]["address"], addresses[i]);
        EXPECT_EQ(json["hosts"][i]["state"], words[i]);
        EXPECT_EQ(json["hosts"][i]["state_s"], 3);
    }
    EXPECT_EQ(json["hosts"][0]["failure"], "Timeout");
    EXPECT_EQ(json["hosts"][1]["findings"][0]["cures"][0], "raise it");
    EXPECT_EQ(json["hosts"][2]["heaps_lost_now"], 3);
    EXPECT_EQ(json["plans"][0]["endpoints"], 5);
    EXPECT_EQ(json["plans"][0]["endpoints_all"], 6);
    EXPECT_EQ(json["faults"][0], "plan ta: no host has shard 3/4");
}

TEST(FleetJson, RowsKeepTheirPlacesWhileNothingChanges) {
    std::vector<HostLook> now;
    for (int i = 0; i < 5; i++)
        now.push_back(host(fmt::format("h{}:1", i), "0/1", 6, static_cast<std::uint64_t>(i)));
    HostStates states;
    std::string order;
    for (int look = 0; look < 5; look++) {
        const observe::Json json =
            fleet_json({}, now, states.take({}, now, kStart + seconds(look)), kStart + seconds(look));
        std::string at;
        for (const auto& host : json["hosts"])
            at += host["address"].get<std::string>();
        EXPECT_TRUE(order.empty() || at == order) << at;
        order = at;
    }
}

TEST(FleetJson, ListsTheWorstOfMany) {
    std::vector<HostLook> now;
    for (int i = 0; i < 1000; i++)
        now.push_back(i == 999 ? no_look_at({"gone:1", ""}, "Timeout")
                               : host(fmt::format("h{}:1", i), "0/1", 6));
    HostStates states;
    const observe::Json json = fleet_json({}, now, states.take({}, now, kStart), kStart);
    EXPECT_EQ(json["processes"], 1000);
    ASSERT_EQ(json["hosts"].size(), kMostListedHosts);
    EXPECT_EQ(json["hosts"][0]["address"], "gone:1");
}

}  // namespace
}  // namespace spead::app
