// SPDX-License-Identifier: BSD-3-Clause
#include "stats/chunk_findings.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "stats/diagnosis.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

namespace spead::stats::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Returns a run with chunks.
Snapshot chunked() {
    Snapshot s = clean();
    with_chunks(s);
    return s;
}

/// Returns the sentence of the finding with this cause; empty: there is none.
std::string sentence(const Snapshot& s, Cause cause) {
    for (const Finding& f : diagnose(s))
        if (f.cause == cause)
            return f.sentence();
    return {};
}

void miss(Snapshot& s, std::uint64_t heaps) {
    ChunkCounts& c = s.streams[0].chunks;
    c.heaps_present -= heaps;
    c.heaps_missing += heaps;
}

AxisPresence axis_of(const std::string& name, std::vector<AxisPresence::Entry> entries) {
    AxisPresence axis;
    axis.name = name;
    axis.places = entries.size();
    axis.chunks = axis.all_chunks = 10;
    axis.each = 100 / entries.size();
    axis.entries = std::move(entries);
    return axis;
}

TEST(ChunkFindings, ChunksOfAnEngineThatFailedAreNoLossOfTheNetwork) {
    Snapshot s = chunked();
    ChunkCounts& c = s.streams[0].chunks;
    c.heaps_present -= 100;
    c.heaps_device_error = 100;
    c.device_error = 2;
    c.delivered -= 2;
    EXPECT_THAT(sentence(s, Cause::device_error), AllOf(HasSubstr("2 chunks"), HasSubstr("engine")));
    EXPECT_THAT(sentence(s, Cause::network_loss), IsEmpty());
}

TEST(ChunkFindings, WhatStreamsMissTogetherIsSaidOnceAndEachOnesLossesExplainIt) {
    Snapshot s = chunked();
    miss(s, 100);
    const auto losses = [&s] {
        std::vector<std::string> found;
        for (const Finding& f : diagnose(s))
            if (f.cause == Cause::network_loss)
                found.push_back(f.sentence());
        return found;
    };
    StreamSnapshot other = s.streams[0];
    other.name = "s1";
    other.chunks_counted_with = "s0";
    s.streams.push_back(other);
    ASSERT_EQ(losses().size(), 1U);
    EXPECT_THAT(losses()[0], HasSubstr("s0: 100 heaps are missing in chunks although"));
    s.streams[1].packets[static_cast<std::size_t>(PacketOutcome::late)] = 60;
    EXPECT_THAT(losses().at(0), HasSubstr("s0: 40 heaps are missing in chunks beyond"));
    s.streams[1].packets[static_cast<std::size_t>(PacketOutcome::late)] = 100;
    EXPECT_THAT(losses(), IsEmpty());
}

TEST(ChunkFindings, MissingHeapsAreALossOfTheNetworkAsFarAsNothingElseExplainsThem) {
    Snapshot s = chunked();
    EXPECT_THAT(diagnose(s), IsEmpty());
    miss(s, 100);
    EXPECT_THAT(sentence(s, Cause::network_loss),
                AllOf(HasSubstr("s0: 100 heaps are missing in chunks although nothing was lost here"),
                      HasSubstr("did not arrive; look at the senders")));
    set(s, PacketOutcome::late);
    EXPECT_THAT(sentence(s, Cause::network_loss), HasSubstr("s0: 23 heaps are missing in chunks beyond"));
    s.ports[0].nic.missed = 23;
    EXPECT_EQ(sentence(s, Cause::network_loss), "");
}

TEST(ChunkFindings, ThePlaceOfMostMissingHeapsIsNamed) {
    Snapshot s = chunked();
    miss(s, 100);
    s.streams[0].axes = {axis_of("pol", {{20, 0}, {80, 0}})};
    EXPECT_THAT(sentence(s, Cause::network_loss), HasSubstr("most of them of pol 1; look at the sender of"));
    s.streams[0].axes = {axis_of("pol", {{40, 0}, {60, 0}})};
    EXPECT_THAT(sentence(s, Cause::network_loss), Not(HasSubstr("most")));
}

TEST(ChunkFindings, SilentPlacesAreNamedWhileTheyAreSilent) {
    Snapshot s = chunked();
    s.streams[0].axes = {axis_of("pol", {{0, 0}, {250, 5}})};
    EXPECT_THAT(sentence(s, Cause::place_silent),
                AllOf(HasSubstr("s0: 5 chunks in a row, up to the last one, had nothing of pol 1"),
                      Not(HasSubstr("never"))));
    s.streams[0].axes = {axis_of("pol", {{0, 0}, {500, 10}})};
    EXPECT_THAT(sentence(s, Cause::place_silent), HasSubstr("pol 1: it has never come; compare the axis"));
    s.streams[0].axes = {axis_of("pol", {{250, 0}, {250, 1}})};
    EXPECT_EQ(sentence(s, Cause::place_silent), "") << "one chunk may be lost as a whole";
}

TEST(ChunkFindings, APlaceThatNeverCameMayBeSentToAnotherGroup) {
    Snapshot s = chunked();
    miss(s, 250);
    set(s, PortOutcome::unmatched);
    s.streams[0].axes = {axis_of("pol", {{0, 0}, {250, 10}})};
    s.streams[0].endpoints = {"239.1.2.0:7148"};
    const auto elsewhere = [&s] {
        std::size_t found = 0;
        for (const Finding& f : diagnose(s))
            found += f.cures[0] ==
                     "see the finding of p0 first: packets for 239.1.2.1:7148 come to it, and no stream "
                     "takes them";
        return found;
    };
    s.ports[0].strays = {{"239.1.2.1:7148", "10.0.0.1", 70}};
    EXPECT_EQ(elsewhere(), 2U) << "of the missing heaps, and of the place";
    EXPECT_THAT(sentence(s, Cause::unmatched), HasSubstr("while s0 lacks packets"));
    for (const char* const other : {"239.1.2.1:7149", "10.0.0.9:7148", "239.1.2.0:7148"}) {
        s.ports[0].strays = {{other, "10.0.0.1", 70}};
        EXPECT_EQ(elsewhere(), 0U) << other;
        EXPECT_EQ(sentence(s, Cause::unmatched), "") << other;
    }
    s.ports[0].strays = {{"239.1.2.1:7148", "10.0.0.1", 7}};
    EXPECT_EQ(elsewhere(), 0U) << "a few of many";
    s.ports[0].strays[0].packets = 70;
    s.streams[0].axes = {axis_of("pol", {{0, 0}, {250, 5}})};
    EXPECT_EQ(elsewhere(), 0U) << "it has come before";
}

TEST(ChunkFindings, ManyPlacesAreRangesAndANumber) {
    AxisPresence axis = axis_of("ant", std::vector<AxisPresence::Entry>(40));
    const auto odd_or = [](std::size_t least) {
        return [least](std::size_t i) { return i % 2 == 1 || i >= least; };
    };
    EXPECT_EQ(places_text(axis, [](std::size_t i) { return i == 3; }), "ant 3");
    EXPECT_EQ(places_text(axis, [](std::size_t i) { return i == 3 || (i > 16 && i < 21); }),
              "ant 3 and 17-20");
    EXPECT_EQ(places_text(axis, odd_or(30)), "ant 1, 3, 5, 7 and 21 more");
}

TEST(ChunkFindings, LatePacketsHaveTheFixThatFits) {
    Snapshot s = chunked();
    set(s, PacketOutcome::late);
    StreamSnapshot& stream = s.streams[0];
    stream.late_sources.note(0x0A000007);
    EXPECT_THAT(sentence(s, Cause::late), AllOf(HasSubstr("10.0.0.7"), HasSubstr("; raise --chunk-window")));
    stream.chunks.timed_out = 1;
    EXPECT_THAT(sentence(s, Cause::late), HasSubstr("; raise `chunk.timeout`, or turn it off"));
    stream.heaps_started = 100;
    stream.heaps_interleaved_evictions = 5;
    EXPECT_THAT(sentence(s, Cause::late),
                AllOf(HasSubstr("or their heap given up"), HasSubstr("; raise --max-heaps")));
    EXPECT_THAT(sentence(s, Cause::max_live_too_small),
                AllOf(HasSubstr("s0: 5 heaps"), HasSubstr("raise --max-heaps")));
}

TEST(ChunkFindings, PacketsWithoutItemsBeforeTheTrackedWayAreExplained) {
    Snapshot s = chunked();
    set(s, PacketOutcome::no_item);
    EXPECT_THAT(sentence(s, Cause::misplaced), Not(HasSubstr("`chunk.way`")));
    s.streams[0].heaps_started = s.streams[0].heaps_ended[0] = 1000;
    EXPECT_THAT(sentence(s, Cause::misplaced),
                AllOf(HasSubstr("s0: 77 packets lack an item"), HasSubstr("set `chunk.way` to tracked"),
                      HasSubstr("item ids of `placement`")));
}

TEST(ChunkFindings, TimesThatAreNotBelievedNameTheirSources) {
    Snapshot s = chunked();
    StreamSnapshot& stream = s.streams[0];
    set(s, PacketOutcome::future);
    stream.future_sources.note(0x0A000009);
    stream.future_sources.note(0x0A000009);
    stream.future_sources.note(0x0A000007);
    EXPECT_THAT(
        sentence(s, Cause::future),
        HasSubstr("77 packets were too far ahead of the open chunks to be believed, most of them from "
                  "10.0.0.9 and 10.0.0.7; look"));
    set(s, PacketOutcome::late);
    stream.chunks.long_past = 7;
    EXPECT_THAT(sentence(s, Cause::future),
                HasSubstr("84 packets were too far from (77 ahead of, 7 behind)"));
    EXPECT_THAT(sentence(s, Cause::late), HasSubstr("s0: 70 packets"));
}

TEST(ChunkFindings, PacketsOfAnotherSizeAreToldWithBothSizes) {
    Snapshot s = chunked();
    set(s, PacketOutcome::inconsistent);
    s.streams[0].odd_packet = 4096;
    s.streams[0].usual_packet = 1024;
    EXPECT_THAT(sentence(s, Cause::contradictions),
                AllOf(HasSubstr("one has 4096 bytes of payload, and those before it have 1024"),
                      HasSubstr("set `chunk.way` to tracked")));
    s.streams[0].odd_packet = 1024;
    EXPECT_THAT(sentence(s, Cause::contradictions), HasSubstr("one begins inside of another"));
}

TEST(ChunkFindings, AFirstHeapWithDescriptorsIsExplained) {
    Snapshot s = chunked();
    set(s, PacketOutcome::bad_length);
    EXPECT_THAT(sentence(s, Cause::misplaced), HasSubstr("if descriptors are in it"));
}

}  // namespace
}  // namespace spead::stats::test
