// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/callback.hpp"

#include <algorithm>
#include <functional>

#include <rte_cycles.h>

#include "base/error.hpp"
#include "chunk/spead2_place.hpp"
#include "tests/unit/chunk/tracked_rig.hpp"

/// Tests heaps that a user's callback places, and callbacks that answer nonsense.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

/// Is the user of the callback: what it answers, and what it was asked.
struct Answers {
    std::function<void(const HeapStart&, ChunkPlace&)> answer;
    std::vector<std::vector<std::uint64_t>> calls;  ///< heap counts

    static void call(void* user, std::span<const HeapStart> starts, std::span<ChunkPlace> places) noexcept {
        auto& self = *static_cast<Answers*>(user);
        ASSERT_EQ(starts.size(), places.size());
        std::vector<std::uint64_t>& counts = self.calls.emplace_back();
        for (std::size_t i = 0; i < starts.size(); i++) {
            counts.push_back(starts[i].count);
            self.answer(starts[i], places[i]);
        }
    }
};

PlaceCallback small_callback(Answers& answers) {
    return {.function = Answers::call,
            .user = &answers,
            .items = {0x1600, 0x3101, 2, 1},
            .heaps = 4,
            .bytes = 64,
            .extra_bytes = 8,
            .most_extra = 2};
}

/// Puts heap n at n % 4 of chunk n / 4.
void by_item(const HeapStart& start, ChunkPlace& place) {
    const auto n = static_cast<std::uint64_t>(start.values[0]);
    place.chunk = start.values[0] < 0 ? -1 : static_cast<std::int64_t>(n / 4);
    place.heap = n % 4;
    place.offset = n % 4 * 16;
    place.extra[0] = std::byte{static_cast<std::uint8_t>(n)};
    place.extra[1] = std::byte{0x55};
    place.extra_at = n % 4 * 2;
    place.extra_size = 2;
}

Packet of_heap(std::uint64_t n, std::uint64_t at = 0, std::size_t length = 16) {
    Packet p(n + 1000);
    p.of(16).at(at, length).time(1);
    if (at == 0)
        p.items({immediate(7, 9), immediate(0x1600, n), immediate(0x1600, n + 1)});
    return p;
}

struct CallbackRig {
    explicit CallbackRig(std::function<void(const HeapStart&, ChunkPlace&)> answer,
                         const TrackedRig::Sizes& sizes = {})
        : answers{std::move(answer), {}},
          map(small_callback(answers), counts),
          rig(map, small_callback(answers).layout(), 16, sizes) {}
    Answers answers;
    stats::CallbackCounts counts;
    CallbackMap map;
    TrackedRig rig;
};

TEST(Callback, IsAskedOnceForAllHeapsOfABatch) {
    CallbackRig c(by_item);
    c.rig.batch({of_heap(0), of_heap(1, 0, 8), of_heap(1, 8, 8), of_heap(6)});
    c.rig.batch({of_heap(2), of_heap(0)});
    EXPECT_EQ(c.answers.calls, (std::vector<std::vector<std::uint64_t>>{{1000, 1001, 1006}, {1002}}));
    EXPECT_EQ(c.counts.calls, 2U);
    EXPECT_EQ(c.counts.heaps, 4U);
    EXPECT_GT(c.counts.cycles, 0U);
    EXPECT_EQ(c.rig.counters[placed], 5U);
    EXPECT_EQ(c.rig.counters[duplicate], 1U);
    c.rig.end();
    const Chunk* const first = c.rig.chunks.ring.take();
    EXPECT_EQ(first->id, 0);
    EXPECT_EQ(first->heaps_present, 3U);
    for (std::uint64_t n = 0; n < 3; n++) {
        EXPECT_EQ(first->extra[n * 2], std::byte{static_cast<std::uint8_t>(n)});
        EXPECT_EQ(first->extra[n * 2 + 1], std::byte{0x55});
        for (std::uint64_t i = 0; i < 16; i++)
            EXPECT_EQ(first->data[n * 16 + i], std::byte{heap::test::pattern(n + 1000, i)});
    }
    EXPECT_EQ(c.rig.chunks.ring.take()->id, 1);
}

TEST(Callback, ItsTimeIsThatOfAllCallsAlthoughFewOfManyAreTimed) {
    constexpr std::uint64_t kTicks = 2000;
    constexpr std::uint64_t kCalls = 800;
    constexpr std::uint64_t kUnsampled = 13;  // the last ones
    stats::CallbackCounts counts;
    PlaceCallback callback;
    callback.function = [](void*, std::span<const HeapStart>, std::span<ChunkPlace> places) noexcept {
        const std::uint64_t begin = rte_rdtsc();
        while (rte_rdtsc() - begin < kTicks) {
        }
        places[0] = {.chunk = 0};
    };
    callback.heaps = 1;
    callback.bytes = 16;
    CallbackMap map(callback, counts);
    for (std::uint64_t n = 0; n < kCalls; n++) {
        const Packet p = of_heap(n);
        HeapSpot spot;
        EXPECT_EQ(map.find(p.view(), 0, spot), placed);
    }
    EXPECT_EQ(counts.calls, kCalls);
    EXPECT_EQ(counts.heaps, kCalls);
    EXPECT_GE(counts.cycles, (kCalls - kUnsampled) * kTicks);
}

TEST(Callback, ItsTimeIsRightWhateverThePeriodOfItsCost) {
    constexpr std::uint64_t kCalls = 8190;
    constexpr double kTicks = 8000;
    struct Costs {
        std::uint64_t period, calls = 0;
    };
    for (const std::uint64_t period : {2, 7, 13, 16})
        for (const std::uint64_t phase : {std::uint64_t{0}, period / 2, period - 1}) {
            Costs costs{period, phase};
            stats::CallbackCounts counts;
            PlaceCallback callback;
            callback.user = &costs;
            callback.function = [](void* user, std::span<const HeapStart>,
                                   std::span<ChunkPlace> places) noexcept {
                auto& c = *static_cast<Costs*>(user);
                const std::uint64_t begin = rte_rdtsc();
                while (c.calls % c.period == 0 && static_cast<double>(rte_rdtsc() - begin) < kTicks) {
                }
                c.calls++;
                places[0] = {.chunk = 0};
            };
            callback.heaps = 1;
            callback.bytes = 16;
            CallbackMap map(callback, counts);
            for (std::uint64_t n = 0; n < kCalls; n++) {
                HeapSpot spot;
                ASSERT_EQ(map.find(of_heap(n).view(), 0, spot), placed);
            }
            // Of one call in seven, those that cost much are about 73 for the longest period.
            const double spent = kTicks * kCalls / static_cast<double>(period);
            EXPECT_GT(static_cast<double>(counts.cycles), 0.5 * spent) << period << " " << phase;
        }
}

TEST(Callback, SeesTheItemsThatItAskedFor) {
    std::vector<std::int64_t> seen;
    HeapStart start;
    CallbackRig c([&](const HeapStart& s, ChunkPlace&) {
        start = s;
        seen.assign(s.values, s.values + 4);
    });
    Packet p = of_heap(3);
    p.from(0x0a000007).time(77);
    c.rig.endpoint = 5;
    EXPECT_EQ(c.rig.give(p), rejected);
    EXPECT_EQ(seen, (std::vector<std::int64_t>{3, -1, 16, 1003}));
    EXPECT_EQ(start.count, 1003U);
    EXPECT_EQ(start.bytes, 16U);
    EXPECT_EQ(start.source, 0x0a000007U);
    EXPECT_EQ(start.endpoint, 5U);
    EXPECT_EQ(start.arrival, 77U);
    c.rig.end();
}

TEST(Callback, IsNotAskedByALaterPacketThatLacksWhatItAskedFor) {
    CallbackRig c(by_item);
    // The first packet of heap 1 is lost, and that of heap 2 comes last.
    c.rig.batch({of_heap(1, 8, 8), of_heap(2, 8, 8), of_heap(2, 0, 8)});
    c.rig.batch({of_heap(2, 8, 8)});
    EXPECT_EQ(c.rig.counters[no_item], 2U);
    EXPECT_EQ(c.rig.counters[placed], 2U);
    EXPECT_EQ(c.answers.calls, (std::vector<std::vector<std::uint64_t>>{{1002}}));
    c.rig.end();
    const Chunk* const chunk = c.rig.chunks.ring.take();
    EXPECT_EQ(chunk->heaps_present, 1U);
    EXPECT_EQ(chunk->present[2], 1U);
}

TEST(Callback, IsAskedByALaterPacketThatHasWhatItAskedFor) {
    CallbackRig c(by_item);
    Packet later = of_heap(1, 8, 8);
    later.items({immediate(0x1600, 1), immediate(0x3101, 4)});
    c.rig.batch({later});
    EXPECT_EQ(c.rig.counters[placed], 1U);
    c.rig.end();
}

TEST(Callback, IsAskedByFirstPacketsAloneWherePacketsComeInOrder) {
    heap::WindowConfig in_order = tracked_window();
    in_order.in_order = true;
    Answers answers{[](const HeapStart& s, ChunkPlace& p) {
                        p = {.chunk = 0, .heap = s.count % 4, .offset = s.count % 4 * 16};
                    },
                    {}};
    PlaceCallback callback = small_callback(answers);
    callback.items.clear();
    stats::CallbackCounts counts;
    CallbackMap map(callback, counts);
    TrackedRig rig(map, callback.layout(), 16, {}, in_order);
    rig.batch({of_heap(1, 8, 8), of_heap(2, 0, 8), of_heap(2, 8, 8)});
    EXPECT_EQ(rig.counters[out_of_order], 1U);
    EXPECT_EQ(rig.counters[placed], 2U);
    EXPECT_EQ(answers.calls, (std::vector<std::vector<std::uint64_t>>{{1002}}));
    rig.end();
}

TEST(Callback, ThatRejectsAHeapRejectsAllItsPackets) {
    CallbackRig c([](const HeapStart&, ChunkPlace& p) { p.chunk = -7; });
    c.rig.batch({of_heap(0, 0, 8), of_heap(0, 8, 8)});
    EXPECT_EQ(c.rig.give(of_heap(0, 8, 8)), rejected);
    EXPECT_EQ(c.rig.counters[rejected], 3U);
    EXPECT_EQ(c.counts.rejected, 1U);
    EXPECT_EQ(c.counts.nonsense, 0U);
    EXPECT_EQ(c.answers.calls.size(), 1U);
    c.rig.end();
}

TEST(Callback, IsNotTrusted) {
    constexpr auto kMost = ~std::uint64_t{0};
    const std::vector<std::function<void(ChunkPlace&)>> wrong{
        [](ChunkPlace& p) { p.heap = 4; },
        [](ChunkPlace& p) { p.heap = kMost; },
        [](ChunkPlace& p) { p.offset = 49; },
        [](ChunkPlace& p) { p.offset = kMost; },
        [](ChunkPlace& p) { p.offset = kMost - 15; },
        [](ChunkPlace& p) { p.extra_size = 3; },
        [](ChunkPlace& p) { p.extra_size = kMost; },
        [](ChunkPlace& p) { p.extra_at = 7; },
        [](ChunkPlace& p) { p.extra_at = kMost; },
    };
    for (std::size_t i = 0; i < wrong.size(); i++) {
        CallbackRig c([&](const HeapStart& s, ChunkPlace& p) {
            by_item(s, p);
            wrong[i](p);
        });
        EXPECT_EQ(c.rig.give(of_heap(1)), rejected) << i;
        EXPECT_EQ(c.counts.nonsense, 1U) << i;
        EXPECT_EQ(c.rig.counters.heaps_started, 0U);
        c.rig.end();
    }
    // The last byte of everything, and a changed pointer, are no nonsense.
    CallbackRig c([](const HeapStart&, ChunkPlace& p) {
        p = {.chunk = INT64_MAX, .heap = 3, .offset = 48, .extra = nullptr, .extra_at = 6, .extra_size = 2};
    });
    EXPECT_EQ(c.rig.give(of_heap(1)), placed);
    c.rig.end();
}

TEST(Callback, PlacesNoHeapWithoutALength) {
    CallbackRig c(by_item);
    Packet p(5);
    p.at(0, 16).items({immediate(0x1600, 1)});
    EXPECT_EQ(c.rig.give(p), bad_length);
    EXPECT_TRUE(c.answers.calls.empty());
    c.rig.end();
}

TEST(Callback, IsAskedAtOnceForAHeapThatCannotBeOfferedAgain) {
    CallbackRig c(by_item);
    EXPECT_EQ(c.rig.offer(of_heap(0), false, false), Tracked::Verdict::again);
    const Packet other = of_heap(1);
    EXPECT_EQ(c.rig.offer(other, true, false), Tracked::Verdict::copy);
    const Packet first = of_heap(0);
    EXPECT_EQ(c.rig.offer(first, true, false), Tracked::Verdict::copy);
    EXPECT_EQ(c.answers.calls, (std::vector<std::vector<std::uint64_t>>{{1001}, {1000}}));
    c.rig.copy();
    c.rig.tracked->boundary();
    c.rig.end();
}

TEST(Callback, IsNotAskedAgainForAHeapWhoseSourceWaits) {
    CallbackRig c(by_item, {.chunks = 1, .window = 2});
    EXPECT_EQ(c.rig.give(of_heap(0), true), placed);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(c.rig.give(of_heap(4), true), count_) << "it waits for a chunk";
    EXPECT_EQ(c.answers.calls, (std::vector<std::vector<std::uint64_t>>{{1000}, {1004}}));
    EXPECT_EQ(c.counts.heaps, 2U);
    // The answer is kept for the next heap only, and only for the same one.
    EXPECT_EQ(c.rig.give(of_heap(1), true), placed);
    EXPECT_EQ(c.rig.give(of_heap(4), true), count_);
    EXPECT_EQ(c.answers.calls.size(), 4U);
    EXPECT_EQ(c.rig.give(of_heap(2)), placed) << "noted heaps are another batch";
    EXPECT_EQ(c.rig.give(of_heap(4)), no_chunk);
    EXPECT_EQ(c.answers.calls.size(), 6U);
    c.rig.end();
    EXPECT_EQ(c.rig.chunks.ring.take()->heaps_present, 3U);
}

TEST(Callback, AnswersForHeapsOfDifferentLengths) {
    CallbackRig c([](const HeapStart& s, ChunkPlace& p) {
        p = {.chunk = 0, .heap = s.count, .offset = s.count == 0 ? 0U : 4U};
    });
    EXPECT_EQ(c.rig.give(Packet(0).whole(4)), placed);
    EXPECT_EQ(c.rig.give(Packet(1).whole(60)), placed);
    EXPECT_EQ(c.rig.give(Packet(2).whole(61)), rejected);
    c.rig.end();
    EXPECT_EQ(c.rig.chunks.ring.take()->heaps_present, 2U);
}

TEST(Callback, WithImpossibleSizesIsRefused) {
    Answers answers;
    const auto refused = [&](auto&& change) {
        PlaceCallback c = small_callback(answers);
        change(c);
        stats::CallbackCounts counts;
        EXPECT_THROW(CallbackMap map(c, counts), UsageError);
    };
    refused([](PlaceCallback& c) { c.function = nullptr; });
    refused([](PlaceCallback& c) { c.heaps = 0; });
    refused([](PlaceCallback& c) { c.bytes = 0; });
    refused([](PlaceCallback& c) { c.items.resize(65); });
    refused([](PlaceCallback& c) { c.most_extra = 9; });
    refused([](PlaceCallback& c) { c.packets_per_heap = 0; });
    refused([](PlaceCallback& c) { c.packets_per_heap = 2; });
    refused([](PlaceCallback& c) { c.heaps = Placement::kMaxHeaps + 1; });
    refused([](PlaceCallback& c) { c.bytes = Placement::kMaxBytes + 1; });
    refused([](PlaceCallback& c) { c.extra_bytes = Placement::kMaxBytes + 1; });
    refused([](PlaceCallback& c) {
        c.heaps = Placement::kMaxHeaps;
        c.packets_per_heap = 9;
        c.packet_bytes = 1;
    });
}

/// Is a callback as spead2's users write them.
void in_c(void* pointer, std::size_t size) {
    auto* const data = static_cast<Spead2PlaceData*>(pointer);
    ASSERT_EQ(size, 80U);
    EXPECT_EQ(data->chunk_id, -1);
    if (data->items[0] < 0)
        return;
    data->chunk_id = data->items[0] / 4;
    data->heap_index = static_cast<std::size_t>(data->items[0] % 4);
    data->heap_offset = data->heap_index * 16;
    data->extra[0] = 0x42;
    data->extra_offset = data->heap_index;
    data->extra_size = 1;
    data->batch_stats[1]++;
    data->batch_stats[2] = std::max<std::uint64_t>(data->batch_stats[2], 10 - data->heap_index);
}

void in_c_with_user(void* pointer, std::size_t size, void* user) {
    (*static_cast<int*>(user))++;
    in_c(pointer, size);
}

TEST(Spead2Place, ServesACallbackOfSpead2) {
    int calls = 0;
    const std::vector<StatKind> kinds{StatKind::sum, StatKind::sum, StatKind::maximum};
    Spead2Place plain(in_c, kinds);
    Spead2Place with_user(in_c_with_user, &calls, kinds);
    for (Spead2Place* const place : {&plain, &with_user}) {
        Answers none;
        PlaceCallback c = small_callback(none);
        c.function = Spead2Place::call;
        c.user = place;
        stats::CallbackCounts counts;
        CallbackMap map(c, counts);
        TrackedRig rig(map, c.layout(), 16, {});
        rig.batch({of_heap(5), of_heap(6), Packet(9).whole(16)});
        EXPECT_EQ(rig.counters[placed], 2U);
        EXPECT_EQ(rig.counters[rejected], 1U);
        rig.batch({of_heap(7)});
        EXPECT_EQ(place->stat(0), 0U);
        EXPECT_EQ(place->stat(1), 3U) << "of two batches";
        EXPECT_EQ(place->stat(2), 9U) << "of the first batch";
        rig.end();
        const Chunk* const chunk = rig.chunks.ring.take();
        EXPECT_EQ(chunk->id, 1);
        EXPECT_EQ(chunk->heaps_present, 3U);
        EXPECT_EQ(chunk->extra[1], std::byte{0x42});
    }
    EXPECT_EQ(calls, 4);
}

TEST(Spead2Place, CountsItsIndexInPresenceBytes) {
    Answers none;
    Spead2Place place(
        [](void* p, std::size_t) {
            auto* const data = static_cast<Spead2PlaceData*>(p);
            data->chunk_id = 0;
            data->heap_index = static_cast<std::size_t>(data->items[0]);
        },
        {}, 4);
    PlaceCallback c = small_callback(none);
    c.function = Spead2Place::call;
    c.user = &place;
    c.packet_bytes = 4;
    c.packets_per_heap = 4;
    stats::CallbackCounts counts;
    CallbackMap map(c, counts);
    TrackedRig rig(map, c.layout(), 16, {.part_bytes = 4});
    EXPECT_EQ(rig.give(of_heap(8)), placed);
    EXPECT_EQ(rig.give(of_heap(6)), rejected);
    EXPECT_EQ(rig.give(of_heap(16)), rejected);
    EXPECT_EQ(counts.nonsense, 2U);
    rig.end();
    const Chunk* const chunk = rig.chunks.ring.take();
    for (std::size_t i = 0; i < 16; i++)
        EXPECT_EQ(chunk->present[i], i >= 8 && i < 12 ? 1 : 0) << i;
}

}  // namespace
}  // namespace spead::chunk::test
