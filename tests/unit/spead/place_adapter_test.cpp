// SPDX-License-Identifier: BSD-3-Clause
#include "spead/place_adapter.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::door {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void place_all(void* user, std::span<const HeapStart> starts, std::span<HeapPlace> places) noexcept {
    (*static_cast<int*>(user))++;
    for (std::size_t i = 0; i < starts.size(); i++) {
        EXPECT_EQ(places[i].chunk, -1);
        places[i].chunk = starts[i].values[0];
        places[i].heap = starts[i].count;
        places[i].offset = starts[i].bytes + starts[i].arrival;
        places[i].extra_at = starts[i].source;
        places[i].extra_size = starts[i].endpoint;
        *places[i].extra = std::byte{7};
        places[i].extra = nullptr;
    }
}

void count_in_batches(void* data, std::size_t) {
    auto& d = *static_cast<PlaceData*>(data);
    d.batch_stats[0]++;
    d.batch_stats[1] = static_cast<std::uint64_t>(d.items[0]);
}

/// Asks a lane's callback about heaps with these values.
void ask(const chunk::PlaceCallback& lane, std::vector<std::int64_t> values) {
    std::vector<chunk::HeapStart> starts(values.size());
    std::vector<chunk::ChunkPlace> places(values.size());
    for (std::size_t i = 0; i < values.size(); i++)
        starts[i].values = &values[i];
    lane.function(lane.user, starts, places);
}

TEST(PlaceAdapter, ConvertsABatch) {
    int calls = 0;
    const PlaceCallback c{.place = place_all, .user = &calls, .chunk = {.heaps = 4, .bytes = 64}};
    const chunk::PlaceCallback lane = place_maker(c, nullptr)();
    const std::int64_t value = 42;
    const std::array<chunk::HeapStart, 2> starts{chunk::HeapStart{11, 12, 13, &value, 14, 15},
                                                 chunk::HeapStart{1, 2, 3, &value, 4, 5}};
    std::array<chunk::ChunkPlace, 2> places;
    std::byte extra{};
    places[0].extra = places[1].extra = &extra;
    lane.function(lane.user, starts, places);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(places[0].chunk, 42);
    EXPECT_EQ(places[0].heap, 11U);
    EXPECT_EQ(places[0].offset, 25U);
    EXPECT_EQ(places[0].extra_at, 14U);
    EXPECT_EQ(places[0].extra_size, 15U);
    EXPECT_EQ(places[0].extra, &extra) << "the callback's own pointer is no matter";
    EXPECT_EQ(places[1].heap, 1U);
    EXPECT_EQ(extra, std::byte{7});
}

TEST(PlaceAdapter, SumsCountersOfLanesThatComeAndGo) {
    const PlaceCallback c{.place_one = count_in_batches,
                          .items = {1},
                          .chunk = {.heaps = 4, .bytes = 64},
                          .stats = {StatKind::sum, StatKind::maximum}};
    const std::shared_ptr<PlaceStats> stats = stats_for(c);
    const auto make = place_maker(c, stats);
    {
        const chunk::PlaceCallback first = make();
        const chunk::PlaceCallback second = make();
        EXPECT_NE(first.user, second.user);
        ask(first, {5, 6, 9});
        ask(second, {8});
        ask(second, {7});
        EXPECT_THAT(stats->values(), ElementsAre(5, 9));
    }
    EXPECT_THAT(stats->values(), ElementsAre(5, 9)) << "former lanes count";
    const chunk::PlaceCallback third = make();
    ask(third, {1});
    EXPECT_THAT(stats->values(), ElementsAre(6, 9));
}

TEST(PlaceAdapter, TakesSizesAndItems) {
    const PlaceCallback c{
        .place_one = count_in_batches,
        .items = {3, 4},
        .chunk = {.heaps = 8, .bytes = 640, .extra_bytes = 9, .packets_per_heap = 2, .packet_bytes = 40},
        .most_extra = 5};
    EXPECT_EQ(stats_for(c), nullptr);
    const chunk::PlaceCallback made = place_maker(c, nullptr)();
    EXPECT_EQ(made.items, c.items);
    EXPECT_EQ(made.most_extra, 5U);
    const chunk::Layout layout = made.layout();
    EXPECT_EQ(layout.heaps, 8U);
    EXPECT_EQ(layout.bytes, 640U);
    EXPECT_EQ(layout.present_bytes(), 16U);
    EXPECT_EQ(layout.extra_bytes, 2U);
    EXPECT_THAT(test::usage_error_of([] { place_maker({}, nullptr); }), HasSubstr("0 functions"));
}

}  // namespace
}  // namespace spead::door
