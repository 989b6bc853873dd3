// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_frame.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace spead::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostLook host(const std::string& name, const std::string& shard, std::uint64_t endpoints,
              std::uint64_t lost = 0) {
    HostLook look;
    look.target = {name, shard};
    look.plan = "ta";
    look.shard = shard;
    look.endpoints = endpoints;
    look.endpoints_all = 6;
    look.bytes_per_second = 1e9;
    look.packets_per_second = 1e6;
    look.heaps_lost = lost;
    look.run_seconds = 10;
    return look;
}

std::string line_with(const TopFrame& frame, const std::string& words) {
    const auto found = std::ranges::find_if(
        frame.lines, [&](const std::string& line) { return line.find(words) != line.npos; });
    return found == frame.lines.end() ? "" : *found;
}

TEST(FleetFrame, ShowsEachProcessInTheOrderOfShards) {
    const std::vector<HostLook> before{host("b:1", "10/11", 3), host("a:1", "9/11", 3, 5)};
    const std::vector<HostLook> now{host("b:1", "10/11", 3), host("a:1", "9/11", 3, 12)};
    const TopFrame frame = fleet_frame(before, now, {}, {160, 0});
    EXPECT_EQ(frame.lines[0], "2 of 2 processes answer; 16.0 Gb/s, 2.00 Mpps");
    ASSERT_GT(frame.lines.size(), frame.heading + 2);
    EXPECT_THAT(frame.lines[frame.heading + 1], HasSubstr("9/11  ok"));
    EXPECT_THAT(frame.lines[frame.heading + 1], HasSubstr(" 7"));
    EXPECT_THAT(frame.lines[frame.heading + 2], HasSubstr("10/11  ok"));
    EXPECT_THAT(line_with(fleet_frame({}, now, {}, {160, 0}), "a:1"), HasSubstr("-"));
}

TEST(FleetFrame, NamesWhatIsMissing) {
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), host("b:1", "1/2", 3)}), IsEmpty());
    // A replica replaces no other shard.
    EXPECT_THAT(
        fleet_faults({host("a:1", "0/2", 3), host("b:1", "0/2", 3)}),
        ElementsAre("plan ta: no host has shard 1/2", "plan ta: 3 of its 6 endpoints are received nowhere"));
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), no_look_at({"b:1", "1/2"}, "Timeout")}),
                ElementsAre("no answer: b:1", "plan ta: no host has shard 1/2",
                            "plan ta: 3 of its 6 endpoints are received nowhere"));
    // A replica that has not read the new plan yet, before and after the other one.
    EXPECT_THAT(fleet_faults({host("a:1", "0/1", 3), host("b:1", "0/1", 6)}), IsEmpty());
    EXPECT_THAT(fleet_faults({host("b:1", "0/1", 6), host("a:1", "0/1", 3)}), IsEmpty());
    EXPECT_THAT(fleet_faults({host("a:1", "0/2", 3), host("b:1", "1/3", 2)}),
                ElementsAre("plan ta: hosts count its shards differently: 0/2, 1/3"));
}

TEST(FleetFrame, TakesCountsOfShardsThatNoProgramHas) {
    for (const char* shard : {"", "/", "0/", "x/y", "0/99999", "0/99999999999999999999", "1/0"})
        EXPECT_LE(fleet_faults({host("a:1", shard, 6)}).size(), 1U) << shard;
}

TEST(FleetFrame, FitsEveryTerminal) {
    std::vector<HostLook> now;
    for (int i = 0; i < 50; i++)
        now.push_back(i % 5 == 0 ? no_look_at({fmt::format("h{}:1", i), ""}, "Timeout was reached")
                                 : host(fmt::format("h{}:1", i), fmt::format("{}/50", i), 1));
    for (std::size_t rows = 1; rows < 70; rows++)
        for (const std::size_t columns : {1, 20, 80, 200}) {
            const TopFrame frame = fleet_frame({}, now, {}, {columns, rows});
            EXPECT_LE(frame.lines.size(), rows);
            for (const std::string& line : frame.lines)
                EXPECT_LE(line.size(), columns);
        }
    TopView view;
    view.scroll = 1000;
    EXPECT_FALSE(line_with(fleet_frame({}, now, view, {160, 24}), "h49:1").empty());
}

}  // namespace
}  // namespace spead::app
