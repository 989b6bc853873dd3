// SPDX-License-Identifier: BSD-3-Clause
#include "observe/path_report.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "stats/path_findings.hpp"
#include "stats/paths.hpp"

namespace spead::observe::path_report_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

stats::StreamSnapshot two_paths() {
    stats::StreamSnapshot s;
    s.name = "s0";
    s.path_ports = {"p0", "p1"};
    s.paths[0] = {.packets = 190, .bytes = 100'000, .placed = 100, .redundant = 80, .late = 5};
    s.paths[1] = {.packets = 130, .bytes = 90'000, .placed = 90, .redundant = 40, .late = 0};
    return s;
}

TEST(PathReport, HasEveryCountOfBothPaths) {
    const Json paths = paths_json(two_paths());
    EXPECT_EQ(paths.dump(), R"([{"port":"p0","received":190,"used":100,"redundant":80,"late":5,"missing":10,)"
                            R"("used_bytes":100000},)"
                            R"({"port":"p1","received":130,"used":90,"redundant":40,"late":0,"missing":60,)"
                            R"("used_bytes":90000}])");
}

TEST(PathReport, IsATableWithARowForEachPath) {
    Table table;
    add_path_rows(table, two_paths());
    const std::string text = table.text();
    EXPECT_THAT(text, HasSubstr("path of"));
    EXPECT_THAT(text, HasSubstr("p1"));
    EXPECT_THAT(text, HasSubstr("60 (31.58 %)")) << text;
}

TEST(PathReport, TwoPathsOfOnePortHaveNumbers) {
    stats::StreamSnapshot s = two_paths();
    s.path_ports = {"p0", "p0"};
    Table table;
    add_path_rows(table, s);
    EXPECT_THAT(table.text(), HasSubstr("p0 (path 2)"));
}

TEST(PathReport, ControlHeapsHideNoMissingPackets) {
    stats::StreamSnapshot s = two_paths();
    // 50 packets of control came by the first path, and again by the second one.
    s.paths[0].control = 50;
    s.paths[1].redundant += 50;
    EXPECT_EQ(stats::missing_packets(s, 0), 10U);
    EXPECT_EQ(stats::missing_packets(s, 1), 60U);
}

TEST(PathReport, PacketsThatCameMoreThanTwiceAreAFinding) {
    stats::StreamSnapshot s = two_paths();
    EXPECT_EQ(stats::repeated_packets(s), 0U);
    s.paths[1].redundant = 120;
    EXPECT_EQ(stats::repeated_packets(s), 10U);
    const std::vector<stats::Finding> all = stats::path_findings(s, 10);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().cause, stats::Cause::duplicates);
    EXPECT_EQ(all.front().count, 10U);
    EXPECT_THAT(all.front().what, HasSubstr("began anew with heap counts of before"));
}

TEST(PathReport, OfOnePathIsEmpty) {
    stats::StreamSnapshot s = two_paths();
    s.path_ports.clear();
    EXPECT_THAT(paths_json(s), IsEmpty());
    Table table;
    add_path_rows(table, s);
    EXPECT_TRUE(table.empty());
}

}  // namespace
}  // namespace spead::observe::path_report_test
