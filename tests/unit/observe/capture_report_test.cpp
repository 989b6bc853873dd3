// SPDX-License-Identifier: BSD-3-Clause
#include "observe/capture_report.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "observe/report.hpp"

namespace spead::observe {
namespace {

using testing::HasSubstr;

stats::Snapshot snapshot() {
    stats::Snapshot s;
    s.duration_s = 2;
    stats::CaptureSnapshot c;
    c.stream = "s0";
    c.only = true;
    c.seconds = 0.5;
    c.taken = 100;
    c.taken_bytes = 5000;
    c.written = 90;
    c.unwritten = 4;
    c.dropped_full = 7;
    c.ended = 8;
    c.cut = 9;
    c.files = {{"a.pcap", 3, 90, 6000}};
    s.captures.push_back(c);
    stats::ReplaySnapshot r;
    r.files = {"a.pcap", "b.pcap"};
    r.records = 20;
    r.frames = 14;
    r.cut = 1;
    r.runts = 2;
    r.too_long = 3;
    r.packets = 28;
    r.passes = 2;
    r.late = 5;
    s.replays.push_back(r);
    return s;
}

TEST(CaptureReport, HasTheNamesOfTheDocumentation) {
    EXPECT_EQ(
        capture_json(snapshot().captures[0]).dump(),
        R"({"stream":"s0","state":"running","failure":"","former":false,"only":true,"packets":{"taken":100,"written":90,"unwritten":4,"buffered":6,)"
        R"("dropped_full":7},"bytes":5000,"files":[{"path":"a.pcap","files":3,"packets":90,"bytes":6000}],)"
        R"("info":{"cut":9,"after_end":8,"seconds":0.5}})");
    EXPECT_EQ(
        replay_json(snapshot().replays[0]).dump(),
        R"({"files":["a.pcap","b.pcap"],"resident":false,"pass":{"records":20,"frames":14,"cut":1,)"
        R"("runts":2,"too_long":3,"not_udp":0},"packets":28,"bytes":0,"passes":2,"zero_copy_packets":0,)"
        R"("late":5,"info":{"most_late_ns":0,"tx_full":0,"stalls":0,"starved":0}})");
}

TEST(CaptureReport, IsPartOfTheReport) {
    const auto document = report_document(snapshot());
    EXPECT_EQ(document["captures"].size(), 1U);
    EXPECT_EQ(document["replays"].size(), 1U);
    const std::string table = report_table(snapshot());
    for (const char* part :
         {"capture of", "dropped_full", "unwritten", "file", "replay of", "too_long", "late"})
        EXPECT_THAT(table, HasSubstr(part));
}

TEST(CaptureReport, ItsTableHasAllCountsOfImpairments) {
    stats::Snapshot s = snapshot();
    EXPECT_THAT(report_table(s), Not(HasSubstr("impaired on purpose")));
    s.replays[0].impair = "delay=1s";
    EXPECT_THAT(report_table(s), Not(HasSubstr("(dropped)"))) << "none was";
    s.replays[0].impaired.impaired_dropped = 96;
    EXPECT_THAT(report_table(s), testing::ContainsRegex("\\(dropped\\)\n[^\n]* 96\n"));
}

TEST(CaptureReport, TellsHowFarACaptureIs) {
    stats::Snapshot s = snapshot();
    EXPECT_THAT(captures_table(s), HasSubstr("running  500 ms"));
    EXPECT_THAT(captures_table(s), HasSubstr("80.0 kb/s")) << "5000 bytes in half a second";
    s.captures[0].over = true;
    EXPECT_EQ(state_of(s.captures[0]), "over");
    s.captures[0].ending = true;
    EXPECT_EQ(state_of(s.captures[0]), "ending");
    s.captures[0].finished = s.captures[0].former = true;
    EXPECT_THAT(captures_table(s), HasSubstr("s0 (removed)  ended"));
}

TEST(CaptureReport, SaysWhatFixesDrops) {
    ASSERT_EQ(capture_advice(snapshot()).size(), 1U);
    EXPECT_THAT(capture_advice(snapshot())[0], HasSubstr("s0: 7 packets found no room"));
    EXPECT_TRUE(capture_advice({}).empty());
}

TEST(CaptureReport, SaysWhyFilesHaveHoles) {
    stats::Snapshot s = snapshot();
    s.captures[0].dropped_full = 0;
    s.captures[0].failure = "cannot write the capture file a.pcap: No space left on device";
    ASSERT_EQ(capture_advice(s).size(), 1U);
    EXPECT_THAT(capture_advice(s)[0],
                AllOf(HasSubstr("s0: 4 packets that were taken are not in the files: cannot write the"),
                      HasSubstr("No space left on device")));
}

}  // namespace
}  // namespace spead::observe
