// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_frame.hpp"

#include <algorithm>
#include <gmock/gmock.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/top/top_summary.hpp"
#include "observe/report.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::app {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TopSample sample(const stats::Snapshot& snapshot) {
    return {"capture1", 42, 0.1, observe::report_document(snapshot)};
}

/// Returns a snapshot with `count` streams s0, s1..., made from numbered_snapshot().
stats::Snapshot streams(int count) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    for (int i = 1; i < count; i++) {
        snapshot.streams.push_back(snapshot.streams[0]);
        snapshot.streams.back().name = "s" + std::to_string(i);
    }
    return snapshot;
}

/// Returns the table's line whose first word is `name`.
std::string row(const TopFrame& frame, const std::string& name) {
    for (std::size_t i = frame.heading + 1; i < frame.lines.size(); i++)
        if (frame.lines[i].starts_with(name + " "))
            return frame.lines[i];
    return "";
}

std::vector<std::string> names(const TopFrame& frame) {
    std::vector<std::string> found;
    for (std::size_t i = frame.heading + 1; i < frame.lines.size() && !frame.lines[i].empty(); i++)
        found.push_back(frame.lines[i].substr(0, frame.lines[i].find(' ')));
    return found;
}

TopView plain(TopPage page = TopPage::streams) {
    TopView view;
    view.page = page;
    view.keys = false;
    return view;
}

TEST(TopFrame, RatesAreBetweenTheTwoReports) {
    stats::Snapshot later = test::numbered_snapshot();
    later.duration_s += 2;
    later.streams[0].bytes += 250'000'000;
    later.streams[0].received += 2000;
    later.streams[0].heaps_delivered += 8;
    later.streams[0].expected_rate = 250'000'000;
    const TopFrame frame = top_frame(sample(test::numbered_snapshot()), sample(later), plain(), {160, 24});
    const std::string line = row(frame, "s0");
    for (const char* const text : {"1.00 Gb/s", "1.00 kpps", "4.0", "50 %"})
        EXPECT_THAT(line, HasSubstr(text));
    EXPECT_THAT(frame.lines[0], StartsWith("capture1 (pid 42)"));
    EXPECT_THAT(frame.lines[2], HasSubstr("1.00 Gb/s"));
}

TEST(TopFrame, WithoutAnEarlierReportThereAreNoRates) {
    const TopSample none{"capture1", 42, 0, {}};
    const TopSample now = sample(test::numbered_snapshot());
    EXPECT_THAT(row(top_frame(none, now, plain(), {120, 24}), "s0"), Not(HasSubstr("b/s")));
    // Nor where counters were cleared in between, or the stream is another.
    stats::Snapshot cleared = test::numbered_snapshot();
    cleared.duration_s = 1;
    EXPECT_THAT(row(top_frame(now, sample(cleared), plain(), {120, 24}), "s0"), Not(HasSubstr("b/s")));
    stats::Snapshot renamed = test::numbered_snapshot();
    renamed.duration_s += 1;
    renamed.streams[0].name = "s9";
    EXPECT_THAT(row(top_frame(now, sample(renamed), plain(), {120, 24}), "s9"), Not(HasSubstr("b/s")));
}

TEST(TopFrame, BeforeTheRunItSaysSo) {
    const TopSample none{"capture1", 42, 0, {}};
    const TopFrame frame = top_frame(none, none, plain(), {80, 24});
    ASSERT_EQ(frame.lines.size(), 1u);
    EXPECT_THAT(frame.lines[0], HasSubstr("has not begun"));
}

TEST(TopFrame, OldNumbersAreToldOf) {
    TopSample now = sample(test::numbered_snapshot());
    now.age_s = 10;
    EXPECT_THAT(top_frame(now, now, plain(), {120, 24}).lines[0], HasSubstr("NUMBERS ARE 10.0 s OLD"));
}

TEST(TopFrame, EveryPageHasItsRows) {
    const TopSample now = sample(test::numbered_snapshot());
    EXPECT_FALSE(row(top_frame(now, now, plain(TopPage::loss), {120, 24}), "s0").empty());
    EXPECT_THAT(row(top_frame(now, now, plain(TopPage::sends), {120, 24}), "d0"), HasSubstr("200"));
    EXPECT_THAT(row(top_frame(now, now, plain(TopPage::ports), {120, 24}), "p0"), HasSubstr("net_ring"));
    const TopFrame lcores = top_frame(now, now, plain(TopPage::lcores), {120, 24});
    EXPECT_THAT(lcores.lines.at(lcores.heading + 1), HasSubstr("s0 d0"));
}

TEST(TopFrame, LossByOutcomeShowsWhatThereIs) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams[0].packets = {};
    snapshot.streams[0].missing_packets = snapshot.streams[0].missing_bytes = 0;
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::no_memory)] = 77;
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::duplicate)] = 99;
    const TopFrame frame = top_frame(sample(snapshot), sample(snapshot), plain(TopPage::loss), {120, 24});
    EXPECT_THAT(frame.lines[frame.heading], HasSubstr("NO_MEMORY"));
    EXPECT_THAT(frame.lines[frame.heading], Not(HasSubstr("LATE")));
    EXPECT_THAT(row(frame, "s0"), HasSubstr("77"));
    EXPECT_THAT(row(frame, "s0"), Not(HasSubstr("99")));
}

TEST(TopFrame, LcoresLoadIsTheBusyPartOfTheTimeBetween) {
    stats::Snapshot first = test::numbered_snapshot();
    first.ticks_per_second = 1000;
    first.lcores[0].counters.busy_cycles = 100;
    first.lcores[0].counters.idle_cycles = 100;
    stats::Snapshot then = first;
    then.duration_s += 1;
    then.lcores[0].counters.busy_cycles += 300;
    then.lcores[0].counters.idle_cycles += 700;
    const TopFrame frame = top_frame(sample(first), sample(then), plain(TopPage::lcores), {120, 24});
    EXPECT_THAT(frame.lines[frame.heading + 1], HasSubstr("[||||||              ]  30 %"));
    EXPECT_THAT(frame.lines, Contains(HasSubstr("cpu  5 [|||       ]  30 %")));
}

TEST(TopFrame, WhatThereIsToSayOfLossesIsSaid) {
    TopSample now = sample(test::numbered_snapshot());
    now.report["findings"] = {{{"sentence", "s0: raise --ring-heaps"}}};
    EXPECT_THAT(top_frame(now, now, plain(TopPage::loss), {120, 24}).lines,
                Contains("s0: raise --ring-heaps"));
    EXPECT_THAT(top_frame(now, now, plain(), {120, 24}).lines, Not(Contains("s0: raise --ring-heaps")));
}

TEST(TopFrame, HealthStandsInTheHeaderAndFirstInTheTableAtAnyWidth) {
    stats::Snapshot snapshot = streams(3);
    for (stats::StreamSnapshot& s : snapshot.streams) {
        s.health = "ok";
        s.sink_failure.clear();
    }
    snapshot.findings.emplace();
    EXPECT_EQ(top_frame(sample(snapshot), sample(snapshot), plain(), {120, 24}).lines[1], "health ok");
    snapshot.streams[1].health = "silent";
    snapshot.streams[2].health = "losing, slow";
    snapshot.findings->push_back({});
    const TopSample now = sample(snapshot);
    EXPECT_EQ(top_frame(now, now, plain(), {120, 24}).lines[1],
              "health s1 silent, s2 losing, slow; 1 finding (page 2)");
    EXPECT_EQ(top_frame(now, now, plain(), {50, 24}).lines[1],
              "health s1 silent, 1 more; 1 finding (page 2)");
    for (const TopPage page : {TopPage::streams, TopPage::loss})
        for (const std::size_t columns : {14, 20, 40, 80, 200}) {
            const TopFrame frame = top_frame(now, now, plain(page), {columns, 40});
            EXPECT_THAT(frame.lines[frame.heading], testing::ContainsRegex("^[A-Z~]+ +HEALTH")) << columns;
            EXPECT_THAT(row(frame, "s1"), testing::ContainsRegex("^s1 +silent")) << columns;
        }
}

TEST(TopFrame, AFindingThatIsOverIsNoMatterOfHealth) {
    stats::Snapshot snapshot = streams(1);
    snapshot.streams[0].health = "";
    EXPECT_EQ(health_of(observe::report_document(snapshot), 100).rfind("s0 does not write", 0), 0U);
    snapshot.streams[0].sink_failure.clear();
    snapshot.findings.emplace().push_back({});
    snapshot.findings->back().until_s = 5;
    EXPECT_EQ(health_of(observe::report_document(snapshot), 100), "ok");
    snapshot.findings->back().until_s = 0;
    snapshot.findings->back().last_s = 20;
    snapshot.duration_s = 20;
    snapshot.cleared_s = 4;
    EXPECT_EQ(health_of(observe::report_document(snapshot), 100), "1 finding (page 2)");
    snapshot.cleared_s = 6;
    EXPECT_EQ(health_of(observe::report_document(snapshot), 100), "ok") << "it has not grown for six seconds";
}

TEST(TopFrame, WhatIsNotShownIsNamed) {
    stats::Snapshot snapshot = streams(30);
    snapshot.streams[3].name = "a_stream_with_a_very_long_name_indeed";
    const TopSample now = sample(snapshot);
    TopView view = plain();
    view.scroll = 4;
    const TopFrame frame = top_frame(now, now, view, {40, 24});
    const std::string& note = frame.lines[frame.heading - 1];
    EXPECT_THAT(note, StartsWith("rows 5 to "));
    EXPECT_THAT(note, HasSubstr(" of 30; too narrow for "));
    EXPECT_THAT(note, testing::EndsWith("~")) << "itself too long";
    EXPECT_THAT(top_frame(now, now, plain(), {200, 24}).lines, Contains(HasSubstr("a_stream_with_a_very")));
    EXPECT_THAT(top_frame(now, now, plain(), {40, 24}).lines, Contains(StartsWith("a_stream_wit~")));
    EXPECT_THAT(top_frame(now, now, plain(), {200, 0}).lines, Contains("")) << "nothing is left out";
    EXPECT_EQ(top_frame(now, now, plain(), {80, 4}).lines.back(), "... make the terminal taller");
}

TEST(TopFrame, FindingsThatHaveNoRoomAreCounted) {
    TopSample now = sample(streams(1));
    now.report["findings"] = nlohmann::ordered_json::array();
    for (int i = 0; i < 40; i++)
        now.report["findings"].push_back({{"sentence", "s0: a loss"}});
    const TopFrame frame = top_frame(now, now, plain(TopPage::loss), {80, 24});
    ASSERT_EQ(frame.lines.size(), 24U);
    const auto shown = std::count(frame.lines.begin(), frame.lines.end(), "s0: a loss");
    EXPECT_GT(shown, 5);
    EXPECT_EQ(frame.lines.back(), fmt::format("... {} lines more", 40 - shown));
}

TEST(TopFrame, CpusTakeTwoLinesAtMostAndTheRestIsCounted) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    for (unsigned i = 2; i <= 12; i++) {
        snapshot.lcores.push_back(snapshot.lcores[0]);
        snapshot.lcores.back().lcore = i;
        snapshot.lcores.back().cpu = 20 + i;
    }
    const TopSample now = sample(snapshot);
    const TopFrame frame = top_frame(now, now, plain(), {80, 24});
    EXPECT_EQ(std::count_if(frame.lines.begin(), frame.lines.end(),
                            [](const std::string& l) { return l.starts_with("cpu"); }),
              1);
    EXPECT_THAT(frame.lines, Contains(testing::ContainsRegex(", [0-9]+ more on page 5$")));
    EXPECT_THAT(top_frame(now, now, plain(), {80, 0}).lines, Contains(HasSubstr("32 [")));
}

TEST(TopFrame, MissingPacketsAndBytesHaveTheirShare) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams[0].missing_packets = 10;
    snapshot.streams[0].missing_bytes = 1000;
    snapshot.streams[0].bytes = 9000;
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::placed)] = 990;
    const TopFrame frame = top_frame(sample(snapshot), sample(snapshot), plain(TopPage::loss), {200, 24});
    EXPECT_THAT(row(frame, "s0"), testing::AllOf(HasSubstr("10 (1.00 %)"), HasSubstr("1000 B (10.00 %)")));
}

TEST(TopFrame, LinesFitAnyTerminal) {
    const TopSample now = sample(streams(40));
    for (std::size_t p = 0; p < kTopPages.size(); p++)
        for (const std::size_t columns : {1, 7, 20, 40, 80, 133, 400})
            for (const std::size_t rows : {1, 2, 5, 6, 7, 8, 9, 24, 100}) {
                TopView view;
                view.page = static_cast<TopPage>(p);
                const TopFrame frame = top_frame(now, now, view, {columns, rows});
                EXPECT_LE(frame.lines.size(), rows);
                for (const std::string& line : frame.lines)
                    EXPECT_LE(line.size(), columns);
            }
}

TEST(TopFrame, WithoutALimitEveryRowIsThere) {
    const TopSample now = sample(streams(300));
    EXPECT_EQ(names(top_frame(now, now, plain(), {120, 0})).size(), 300u);
}

TEST(TopFrame, ScrollingEndsAtTheLastRow) {
    const TopSample now = sample(streams(30));
    TopView view;
    TopFrame frame = top_frame(now, now, view, {80, 24});
    EXPECT_EQ(frame.lines.size(), 24u);
    EXPECT_THAT(frame.lines.back(), HasSubstr("q quit"));
    const std::size_t shown = 24 - frame.heading - 2;
    EXPECT_EQ(frame.most_scroll, 30 - shown);
    view.scroll = 1000;
    view.sort = TopSort::rate;  // all equal: as in the report
    frame = top_frame(now, now, view, {80, 24});
    EXPECT_THAT(frame.lines[frame.heading + 1], StartsWith("s" + std::to_string(30 - shown) + " "));
    EXPECT_THAT(frame.lines[frame.heading + shown], StartsWith("s29 "));
}

TEST(TopFrame, RowsAreSortedAsAsked) {
    stats::Snapshot first = streams(3);
    stats::Snapshot then = first;
    then.duration_s += 1;
    then.streams[0].bytes += 10;
    then.streams[1].bytes += 1000;
    then.streams[2].bytes += 100;
    then.streams[2].heaps_dropped_full += 5;
    then.streams[0].heaps_queued = 150;
    const auto by = [&](TopSort sort, bool reversed = false) {
        TopView view = plain();
        view.sort = sort;
        view.reversed = reversed;
        return names(top_frame(sample(first), sample(then), view, {120, 24}));
    };
    EXPECT_THAT(by(TopSort::name), testing::ElementsAre("s0", "s1", "s2"));
    EXPECT_THAT(by(TopSort::name, true), testing::ElementsAre("s2", "s1", "s0"));
    EXPECT_THAT(by(TopSort::rate), testing::ElementsAre("s1", "s2", "s0"));
    EXPECT_THAT(by(TopSort::rate, true), testing::ElementsAre("s0", "s2", "s1"));
    EXPECT_THAT(by(TopSort::loss).front(), "s2");
    EXPECT_THAT(by(TopSort::queue).front(), "s0");
}

TEST(TopFrame, AnOldOrForeignReportIsShownAsFarAsItGoes) {
    for (
        const char* const text :
        {"{}", R"({"streams":[{}]})", R"({"streams":{"name":1}})",
         R"({"streams":[1,null,"x",{"name":5,"packets":[]}]})",
         R"({"duration_s":"x","lcores":[{"lcore":"a","streams":7,"sends":[1]}],"ports":null,"sends":[[]]})"}) {
        const TopSample now{"x", 1, 0, nlohmann::ordered_json::parse(text)};
        for (std::size_t p = 0; p < kTopPages.size(); p++)
            EXPECT_FALSE(top_frame(now, now, plain(static_cast<TopPage>(p)), {80, 24}).lines.empty()) << text;
    }
}

TEST(TopFrame, NothingReachesTheTerminalThatIsNoText) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.ports[0].driver = "net\x1b[2J\n\xc3\xbc";
    TopSample now = sample(snapshot);
    now.name = "evil\x1b]0;title\x07";
    for (const std::string& line : top_frame(now, now, plain(TopPage::ports), {200, 24}).lines)
        for (const char c : line)
            EXPECT_TRUE(c >= 0x20 && c <= 0x7E) << line;
}

TEST(TopFrame, FindingsAreWrappedAndHaveRoomBesideManyStreams) {
    stats::Snapshot snapshot = streams(40);
    for (stats::StreamSnapshot& s : snapshot.streams)
        s.packets = {};
    snapshot.streams[0].packets[static_cast<std::size_t>(PacketOutcome::no_memory)] = 77;
    snapshot.ports[0].nic = {};
    const TopSample now = sample(snapshot);
    const TopFrame frame = top_frame(now, now, plain(TopPage::loss), {50, 24});
    std::string all;
    for (const std::string& line : frame.lines) {
        EXPECT_LE(line.size(), 50u);
        all += line + " ";
    }
    EXPECT_EQ(frame.lines.size(), 24u);
    const std::string sentence = now.report["findings"][0]["sentence"];
    ASSERT_GT(sentence.size(), 50u);
    // With the lines' ends and beginnings as single blanks it stands there whole.
    for (std::size_t at = 0; (at = all.find("  ", at)) != std::string::npos;)
        all.erase(at, 1);
    EXPECT_THAT(all, HasSubstr(sentence));
    EXPECT_GT(frame.most_scroll, 20u) << "streams below can be reached";
}

TEST(TopFrame, CapturesHaveALineAndWhatIsStoppedSaysSo) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    const auto text = [&](TopPage page) {
        std::string all;
        for (const std::string& line :
             top_frame(sample(snapshot), sample(snapshot), plain(page), {160, 24}).lines)
            all += line + "\n";
        return all;
    };
    EXPECT_THAT(text(TopPage::streams), Not(HasSubstr("cap ")));
    snapshot.captures.resize(2);
    snapshot.captures[0].taken = 50;
    snapshot.captures[0].written = 30;
    snapshot.captures[0].dropped_full = 4;
    snapshot.captures[1].finished = true;
    snapshot.streams[0].state = "stopped";
    snapshot.ports[0].state = "detached";
    EXPECT_THAT(text(TopPage::streams),
                HasSubstr("cap 1 running, 1 ended; 30 packets written, 20 buffered, 4 dropped, 0 unwritten"));
    EXPECT_THAT(text(TopPage::streams), HasSubstr("stopped"));
    EXPECT_THAT(text(TopPage::ports), HasSubstr("detached"));
}

TEST(TopFrame, ChunksAreShownBeforeLossesWhereAllStreamsHaveThem) {
    stats::Snapshot before = test::numbered_snapshot();
    stats::StreamSnapshot& s = before.streams[0];
    s.heaps_started = s.heaps_delivered = s.heaps_live = 0;
    s.chunks.buffers = 8;
    s.chunks.taken = 10;
    s.chunks.heaps_expected = s.chunks.heaps_present = 1000;
    s.axes = {{"pol", 1, 2, 1, 10, 10, 50, {{100, 0}, {0, 0}}}};
    stats::Snapshot now = before;
    now.duration_s += 1;
    now.streams[0].chunks.taken += 10;
    now.streams[0].chunks.heaps_expected += 1000;
    now.streams[0].chunks.heaps_present += 960;
    now.streams[0].chunks.heaps_missing += 40;
    now.streams[0].axes[0].chunks += 10;
    now.streams[0].axes[0].entries[1].missing += 40;
    const TopFrame frame = top_frame(sample(before), sample(now), plain(), {80, 24});
    EXPECT_THAT(frame.lines.at(frame.heading), HasSubstr("CHUNKS/s  PRESENT       LOWEST"));
    for (const char* const text : {"10.0", "96 %", "pol 1: 92 %"})
        EXPECT_THAT(row(frame, "s0"), HasSubstr(text)) << "since the report before";
    const TopFrame wide = top_frame(sample(before), sample(now), plain(), {160, 24});
    EXPECT_THAT(wide.lines.at(wide.heading), HasSubstr("FREE"));
    EXPECT_THAT(wide.lines.at(wide.heading), Not(HasSubstr("LIVE")));
    EXPECT_THAT(row(wide, "s0"), HasSubstr("40.0")) << "missing heaps are lost";
}

}  // namespace
}  // namespace spead::app
