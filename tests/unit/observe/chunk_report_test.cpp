// SPDX-License-Identifier: BSD-3-Clause
#include "observe/chunk_report.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "observe/chunk_families.hpp"
#include "observe/report.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

using test::numbered_snapshot;
using testing::HasSubstr;
using testing::Not;

/// Returns a snapshot whose stream has chunks, each count another number.
stats::Snapshot with_numbered_chunks() {
    stats::Snapshot snapshot = numbered_snapshot();
    std::uint64_t next = 500;
    for (const stats::ChunkCount& c : stats::kChunkCounts)
        snapshot.streams[0].chunks.*c.count = next++;
    for (const stats::ChunkCount& c : stats::kChunkStates)
        snapshot.streams[0].chunks.*c.count = next++;
    return snapshot;
}

TEST(ChunkReport, TheReportHasEveryCountByItsName) {
    const stats::Snapshot snapshot = with_numbered_chunks();
    const nlohmann::ordered_json stream = report_document(snapshot)["streams"][0];
    std::uint64_t next = 500;
    for (const auto& [name, value] : stream["chunks"].items()) {
        if (!value.is_number_unsigned())
            continue;
        EXPECT_EQ(value, next++) << name;
    }
    EXPECT_EQ(next, 500 + stats::kChunkCounts.size() + stats::kChunkStates.size());
    EXPECT_NEAR(stream["chunks"]["consumer_load"].get<double>(), (522.0 / 507) / (524.0 / 523), 1e-9);
    EXPECT_FALSE(report_document(numbered_snapshot())["streams"][0].contains("chunks"))
        << "a stream of heaps has none";
}

TEST(ChunkReport, TellsTheWay) {
    struct Case {
        std::uint64_t direct, tracked;
        const char* way;
    };
    for (const Case& c :
         {Case{0, 0, "undecided"}, Case{2, 0, "direct"}, Case{0, 1, "tracked"}, Case{1, 1, "mixed"}}) {
        stats::Snapshot snapshot = with_numbered_chunks();
        snapshot.streams[0].lcores_direct = c.direct;
        snapshot.streams[0].lcores_tracked = c.tracked;
        EXPECT_EQ(report_document(snapshot)["streams"][0]["chunks"]["way"], c.way);
        EXPECT_THAT(report_tables(snapshot, nullptr).heaps, HasSubstr(c.way));
    }
}

TEST(ChunkReport, HasWhatWasCarriedOverAClearing) {
    stats::Snapshot snapshot = with_numbered_chunks();
    snapshot.streams[0].chunks.carried_open = 3;
    snapshot.streams[0].chunks.carried_waiting = 4;
    const nlohmann::ordered_json carried = report_document(snapshot)["streams"][0]["chunks"]["carried"];
    EXPECT_EQ(carried["open"], 3);
    EXPECT_EQ(carried["waiting"], 4);
}

TEST(ChunkReport, ChunksThatSeveralStreamsFillCountWithOne) {
    stats::Snapshot snapshot = with_numbered_chunks();
    EXPECT_FALSE(report_document(snapshot)["streams"][0]["chunks"].contains("counted_with"));
    snapshot.streams.push_back(snapshot.streams[0]);
    snapshot.streams[1].name = "other";
    snapshot.streams[1].chunks_counted_with = snapshot.streams[0].name;
    const nlohmann::ordered_json chunks = report_document(snapshot)["streams"][1]["chunks"];
    EXPECT_EQ(chunks["opened"], 500);
    EXPECT_EQ(chunks["counted_with"], snapshot.streams[0].name);
    EXPECT_THAT(report_tables(snapshot, nullptr).heaps, HasSubstr("counted with"));
    // A sum over the series is right.
    std::vector<prometheus::MetricFamily> families;
    add_chunk_families(families, snapshot);
    for (const prometheus::MetricFamily& f : families)
        EXPECT_EQ(f.metric.size(), f.name.starts_with("spead_stream_callback_") ? 2U : 1U) << f.name;
}

TEST(ChunkReport, ATableShowsChunksInPlaceOfHeaps) {
    stats::Snapshot snapshot = with_numbered_chunks();
    snapshot.streams[0].heaps_started = 0;
    const ReportTables tables = report_tables(snapshot, nullptr);
    EXPECT_THAT(tables.heaps, Not(HasSubstr("started")));
    EXPECT_THAT(tables.heaps, HasSubstr("chunks"));
    EXPECT_THAT(tables.heaps, HasSubstr("heaps present"));
    EXPECT_THAT(report_table(snapshot), HasSubstr(tables.heaps));
}

TEST(ChunkReport, OneMissingHeapOfManyIsNotNone) {
    stats::StreamSnapshot s;
    s.chunks.taken = 1;
    s.chunks.heaps_expected = 1'000'000;
    s.chunks.heaps_present = 999'999;
    Table table;
    add_chunks_row(table, s, std::nullopt);
    EXPECT_THAT(table.text(), HasSubstr("< 100 %"));
    Table full;
    s.chunks.heaps_present++;
    add_chunks_row(full, s, 2.5);
    EXPECT_THAT(full.text(), Not(HasSubstr("<")));
    EXPECT_THAT(full.text(), HasSubstr("2.5/s"));
}

TEST(ChunkReport, ShowsWhatACallbackCosts) {
    stats::StreamSnapshot s;
    s.chunks.callback_heaps = 8;
    s.chunks.callback_cycles = 404;
    s.chunks.callback_nonsense = 3;
    Table table;
    add_chunks_row(table, s, std::nullopt);
    EXPECT_THAT(table.text(), HasSubstr("cycles/heap in callback"));
    EXPECT_THAT(table.text(), HasSubstr("50"));
    EXPECT_THAT(table.text(), HasSubstr("callback nonsense"));
    Table declared;
    add_chunks_row(declared, {}, std::nullopt);
    EXPECT_THAT(declared.text(), Not(HasSubstr("callback")));
}

stats::AxisPresence axis_of(const std::string& name, std::size_t places) {
    stats::AxisPresence axis;
    axis.name = name;
    axis.places = places;
    axis.chunks = axis.all_chunks = 10;
    axis.each = 10;
    axis.entries.resize(places);
    return axis;
}

TEST(ChunkReport, ASilentPlaceIsSeenAmongItsNeighbours) {
    stats::Snapshot snapshot = with_numbered_chunks();
    snapshot.streams[0].axes = {axis_of("pol", 2), axis_of("ant", 80)};
    snapshot.streams[0].axes[0].entries[1] = {7, 0};
    snapshot.streams[0].axes[1].entries[17] = {100, 10};
    const std::string text = report_tables(snapshot, nullptr).heaps;
    EXPECT_THAT(text, HasSubstr("0: 100 %, 1: 93 %"));
    EXPECT_THAT(text, HasSubstr("0-16: 100 %, 17: 0 %, 18-79: 100 %"));
    const nlohmann::ordered_json axes = report_document(snapshot)["streams"][0]["axes"];
    EXPECT_EQ(axes[0]["present"], (std::vector<std::uint64_t>{100, 93}));
    EXPECT_EQ(axes[1]["places_each"], 2);
    EXPECT_EQ(axes[1]["present"].size(), 40U);
    EXPECT_EQ(axes[1]["present"][8], 100) << "16 is there, and 17 is not";
    bool found = false;
    for (const auto& one : axes[1]["lowest"])
        found |= one["place"] == "17" && one["present"] == 0 && one["nothing_in_chunks"] == 10;
    EXPECT_TRUE(found) << axes[1]["lowest"];
    EXPECT_LE(axes[1]["lowest"].size(), 8U);
}

TEST(ChunkReport, OfManyDifferentPlacesTheLowestAreNamed) {
    stats::Snapshot snapshot = with_numbered_chunks();
    snapshot.streams[0].axes = {axis_of("ant", 64)};
    for (std::size_t i = 0; i < 64; i++)
        snapshot.streams[0].axes[0].entries[i].missing = i % 2 == 0 ? 2 : 4;
    snapshot.streams[0].axes[0].entries[33].missing = 50;
    const std::string text = report_tables(snapshot, nullptr).heaps;
    EXPECT_THAT(text, HasSubstr("33: 50 %"));
    EXPECT_THAT(text, HasSubstr("; the others: 97."));
    EXPECT_THAT(text, Not(HasSubstr("63:")));
}

}  // namespace
}  // namespace spead::observe
