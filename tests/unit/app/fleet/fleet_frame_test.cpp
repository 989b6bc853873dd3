// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_frame.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/unit/app/fleet/hosts.hpp"

namespace spead::app {
namespace {

using ::testing::HasSubstr;

using spead::test::host;

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
    EXPECT_THAT(frame.lines[frame.heading + 1], HasSubstr("9/11  losing"));
    EXPECT_THAT(frame.lines[frame.heading + 1], HasSubstr(" 7"));
    EXPECT_THAT(frame.lines[frame.heading + 2], HasSubstr("10/11  ok"));
    EXPECT_THAT(line_with(fleet_frame({}, now, {}, {160, 0}), "a:1"), HasSubstr("-"));
}

TEST(FleetFrame, SaysWhatAProcessFinds) {
    std::vector<HostLook> now{host("a:1", "0/1", 6)};
    now[0].findings = {{"vis", "consumer_too_slow", "consumer", "3 heaps found a full queue", {}, 1}};
    EXPECT_THAT(line_with(fleet_frame({}, now, {}, {160, 0}), "a:1"), HasSubstr("problem"));
    EXPECT_THAT(line_with(fleet_frame({}, now, {}, {160, 0}), "a:1"),
                HasSubstr("vis: 3 heaps found a full queue"));
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
