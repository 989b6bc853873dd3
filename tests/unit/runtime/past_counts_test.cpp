// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/past_counts.hpp"

#include <gtest/gtest.h>

#include "runtime/sink.hpp"

namespace spead::runtime::unit_test {
namespace {

/// Returns details with these packets by endpoint, ten bytes each.
LaneDetails details_with(const std::vector<std::uint64_t>& packets) {
    LaneDetails details;
    for (const std::uint64_t n : packets)
        details.endpoints.push_back({n, 10 * n});
    return details;
}

class CountedSink : public Sink {
  public:
    CountedSink(std::uint64_t right, std::uint64_t wrong) {
        for (; right > 0; right--)
            count_compared(true);
        for (; wrong > 0; wrong--)
            count_compared(false);
        show_compared();
    }
    void consume(const heap::HeapHandle&) override {}
};

TEST(PastCounts, SumLanesByPlace) {
    PastCounts past;
    stats::StreamCounters counts;
    counts.packets[0] = 3;
    LaneDetails first = details_with({1, 2});
    first.times.latency.add(100);
    past.add_lane(counts, {5, 1}, first);
    past.add_lane(counts, {10, 2}, details_with({10, 20, 30}));
    past.add_lane(counts, {0, 0}, details_with({100}));
    EXPECT_EQ(past.sums().received, 9U);
    EXPECT_EQ(past.sums().heaps_delivered, 15U);
    EXPECT_EQ(past.sums().heaps_unwritten, 3U);
    ASSERT_EQ(past.endpoints().size(), 3U);
    EXPECT_EQ(past.endpoints()[0].packets, 111U);
    EXPECT_EQ(past.endpoints()[1].packets, 22U);
    EXPECT_EQ(past.endpoints()[2].bytes, 300U);
    EXPECT_EQ(past.times().latency.count(), 1U);

    past.forget_peaks();
    EXPECT_EQ(past.times().latency.count(), 0U);
    EXPECT_EQ(past.sums().received, 9U) << "only the times restart";
}

TEST(PastCounts, WhatWasMostIsForgotten) {
    PastCounts past;
    stats::StreamCounters counts;
    counts.longest_header = 170;
    counts.longest_packet = 9000;
    counts.ghosts_source = 0x0A000009;
    counts.heaps_ghosts = counts.ghosts_of_source = 7;
    counts.paths[1].forgotten = 3;
    counts.paths[1].forgotten_after = 1000;
    past.add_lane(counts, {0, 0}, details_with({}));
    past.forget_peaks();
    const stats::StreamSnapshot& s = past.sums();
    EXPECT_EQ(s.longest_header + s.longest_packet, 0U);
    EXPECT_EQ(s.ghosts_source, 0U);
    EXPECT_EQ(s.ghosts_of_source, 0U);
    EXPECT_EQ(s.heaps_ghosts, 7U);
    EXPECT_EQ(s.paths[1].forgotten_after, 0U);
    EXPECT_EQ(s.paths[1].forgotten, 3U);
}

TEST(PastCounts, SayNothingAboutThePresent) {
    PastCounts past;
    stats::StreamCounters counts;
    counts.held_now = counts.lent_now = counts.rotating_bytes = 7;
    counts.streaming_now = counts.goes_direct = counts.goes_tracked = 1;
    for (int i = 0; i < 3; i++)
        past.add_lane(counts, {}, {});
    EXPECT_EQ(past.sums().held_now, 0U);
    EXPECT_EQ(past.sums().lent_now, 0U);
    EXPECT_EQ(past.sums().rotating_bytes, 0U);
    EXPECT_EQ(past.sums().streaming_now, 0U) << "lcores that have stopped";
    EXPECT_EQ(past.sums().lcores_direct, 0U);
    EXPECT_EQ(past.sums().lcores_tracked, 0U);
}

TEST(PastCounts, KeepCountsOfEndpointsThatLoseTheirPlace) {
    PastCounts past;
    past.add_lane({}, {}, details_with({1, 2, 3}));
    past.free_places(4, {1, 3});
    ASSERT_EQ(past.endpoints().size(), 4U);
    EXPECT_EQ(past.endpoints()[0].packets, 1U);
    EXPECT_EQ(past.endpoints()[1].packets, 0U);
    EXPECT_EQ(past.endpoints()[2].packets, 3U);
    EXPECT_EQ(past.without_place().packets, 2U);
    past.add_without_place({5, 50});
    EXPECT_EQ(past.without_place().packets, 7U);
    EXPECT_EQ(past.without_place().bytes, 70U);
}

TEST(PastCounts, CountSinksAndEvents) {
    PastCounts past;
    past.add_sink(CountedSink(7, 2));
    past.add_sink(CountedSink(1, 0));
    EXPECT_EQ(past.sums().heaps_verified, 8U);
    EXPECT_EQ(past.sums().heaps_wrong, 2U);
    past.count(stats::StreamEvent::back);
    past.count(stats::StreamEvent::back);
    EXPECT_EQ(past.sums().events[static_cast<std::size_t>(stats::StreamEvent::back)], 2U);
    EXPECT_EQ(past.sums().events[static_cast<std::size_t>(stats::StreamEvent::stalled)], 0U);
}

}  // namespace
}  // namespace spead::runtime::unit_test
