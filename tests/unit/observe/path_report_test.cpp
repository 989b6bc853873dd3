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
    s.path_endpoints = {{"239.1.2.3:7148"}, {"239.2.2.3:7148", "239.2.2.4:7148"}};
    s.paths[0] = {.packets = 194, .bytes = 100'000, .placed = 100, .redundant = 80, .repeated = 4, .late = 5};
    s.paths[1] = {.packets = 130, .bytes = 90'000, .placed = 90, .redundant = 40, .late = 0};
    return s;
}

std::vector<stats::Finding> findings(const stats::StreamSnapshot& s) {
    const stats::Snapshot snapshot;
    return stats::path_findings(s, 10, stats::Advice(snapshot));
}

TEST(PathReport, HasEveryCountOfBothPaths) {
    const Json paths = paths_json(two_paths());
    EXPECT_EQ(paths.dump(),
              R"([{"port":"p0","endpoints":["239.1.2.3:7148"],"received":194,"used":100,"redundant":80,)"
              R"("repeated":4,"late":5,"control":0,"missing":10,"forgotten":0,"used_bytes":100000},)"
              R"({"port":"p1","endpoints":["239.2.2.3:7148","239.2.2.4:7148"],"received":130,"used":90,)"
              R"("redundant":40,"repeated":0,"late":0,"control":0,"missing":60,"forgotten":0,)"
              R"("used_bytes":90000}])");
}

TEST(PathReport, ShowsControlAndCopiesThatCameTooLate) {
    stats::StreamSnapshot s = two_paths();
    s.paths[0].control = 2;
    s.paths[0].packets += 2;
    s.paths[1].forgotten = 30;
    const Json paths = paths_json(s);
    EXPECT_EQ(paths[0].at("control"), 2);
    EXPECT_EQ(paths[1].at("forgotten"), 30);
    const Json& p = paths[0];
    std::uint64_t all = 0;
    for (const char* name : {"used", "redundant", "repeated", "late", "control"})
        all += p.at(name).get<std::uint64_t>();
    EXPECT_LE(all, p.at("received").get<std::uint64_t>());
    // Of 162 packets, the first path brought 182, and the second one 100 in time.
    EXPECT_EQ(paths[0].at("missing"), 0);
    EXPECT_EQ(paths[1].at("missing"), 62);
    Table table;
    add_path_rows(table, s);
    EXPECT_THAT(table.text(), HasSubstr("forgotten"));
    EXPECT_THAT(table.text(), HasSubstr("control"));
}

TEST(PathReport, CopiesThatCameTooLateAreAFindingAndNoLossOfTheOtherPath) {
    stats::StreamSnapshot s = two_paths();
    s.paths[0] = {.packets = 100, .placed = 100, .passed = 130};
    s.paths[1] = {.packets = 100, .placed = 30, .redundant = 70, .forgotten = 30, .passed = 130};
    EXPECT_EQ(stats::unique_packets(s), 100U);
    EXPECT_EQ(stats::lost_packets(s, 0), 0U);
    EXPECT_EQ(stats::lost_packets(s, 1), 30U);
    const std::vector<stats::Finding> all = findings(s);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].cause, stats::Cause::path_behind);
    EXPECT_EQ(all[0].count, 30U);
    EXPECT_EQ(all[1].cause, stats::Cause::path_loss);
}

TEST(PathReport, IsATableWithARowForEachPath) {
    Table table;
    add_path_rows(table, two_paths());
    const std::string text = table.text();
    EXPECT_THAT(text, HasSubstr("path of"));
    EXPECT_THAT(text, HasSubstr("p1"));
    EXPECT_THAT(text, HasSubstr("239.2.2.3:7148 and 1 more"));
    EXPECT_THAT(text, HasSubstr("repeated"));
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
    EXPECT_EQ(stats::renewed_packets(s), 0U);
    s.paths[1].redundant = 120;
    EXPECT_EQ(stats::renewed_packets(s), 10U);
    const std::vector<stats::Finding> all = findings(s);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].cause, stats::Cause::duplicates);
    EXPECT_EQ(all[0].count, 10U);
    EXPECT_THAT(all[0].what, HasSubstr("began anew with heap counts of before"));
    EXPECT_EQ(all[1].cause, stats::Cause::duplicates);
    EXPECT_EQ(all[1].count, 4U);
    EXPECT_THAT(all[1].what, HasSubstr("came twice by port p0 alone"));
}

TEST(PathReport, AnEstimateOfForgottenPacketsMakesNoRenewal) {
    stats::StreamSnapshot s = two_paths();
    s.paths[0] = {.packets = 1000, .placed = 600, .redundant = 400, .passed = 1000};
    s.paths[1] = {.packets = 1000, .placed = 401, .redundant = 599, .forgotten = 300, .passed = 1000};
    EXPECT_EQ(stats::renewed_packets(s), 0U);
}

TEST(PathReport, PacketsOnTheirWayAreNoFinding) {
    stats::StreamSnapshot s = two_paths();
    s.paths[0].repeated = 0;
    EXPECT_EQ(stats::missing_packets(s, 1), 60U);
    EXPECT_THAT(findings(s), IsEmpty());
    s.paths[1].passed = 137;
    EXPECT_EQ(stats::lost_packets(s, 1), 7U);
    const std::vector<stats::Finding> all = findings(s);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].cause, stats::Cause::path_loss);
    EXPECT_EQ(all[0].count, 7U);
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
