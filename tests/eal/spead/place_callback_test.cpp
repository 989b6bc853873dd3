// SPDX-License-Identifier: BSD-3-Clause
#include "spead/place_callback.hpp"

#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>

#include "tests/eal/spead/chunk_rig.hpp"

namespace spead::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr ChunkSizes kSizes{.heaps = kHeaps, .bytes = kHeaps * kHeap, .extra_bytes = kHeaps * 2};

/// Is the user of a callback on all lcores at once.
struct Asked {
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> heaps{0};

    static void place(void* user, std::span<const HeapStart> starts, std::span<HeapPlace> places) noexcept {
        auto& self = *static_cast<Asked*>(user);
        self.calls++;
        self.heaps += starts.size();
        for (std::size_t i = 0; i < starts.size(); i++) {
            const auto time = static_cast<std::uint64_t>(starts[i].values[0]) / kStep;
            const auto pol = static_cast<std::uint64_t>(starts[i].values[1]);
            places[i].chunk = static_cast<std::int64_t>(time / kTimes);
            places[i].heap = pol * kTimes + time % kTimes;
            places[i].offset = places[i].heap * starts[i].bytes;
            const auto extra = static_cast<std::uint16_t>(starts[i].values[2] >> 8);
            std::memcpy(places[i].extra, &extra, 2);
            places[i].extra_at = places[i].heap * 2;
            places[i].extra_size = 2;
        }
    }
};

/// Is a callback as they are made for spead2. It counts heaps, those of the second polarisation, and the
/// latest time.
void place_one(void* pointer, std::size_t size) {
    auto& data = *static_cast<PlaceData*>(pointer);
    ASSERT_EQ(size, sizeof(data));
    const auto time = static_cast<std::uint64_t>(data.items[0]) / kStep;
    const auto pol = static_cast<std::uint64_t>(data.items[1]);
    data.chunk_id = static_cast<std::int64_t>(time / kTimes);
    data.heap_index = pol * kTimes + time % kTimes;
    data.heap_offset = data.heap_index * static_cast<std::uint64_t>(data.items[3]);
    const auto extra = static_cast<std::uint16_t>(data.items[2] >> 8);
    std::memcpy(data.extra, &extra, 2);
    data.extra_offset = data.heap_index * 2;
    data.extra_size = 2;
    data.batch_stats[0]++;
    data.batch_stats[1] += pol;
    data.batch_stats[2] = std::max<std::uint64_t>(data.batch_stats[2], time);
}

void place_one_for(void* pointer, std::size_t size, void* user) {
    (*static_cast<std::atomic<int>*>(user))++;
    place_one(pointer, size);
}

PlaceCallback batch_callback(Asked& asked) {
    return {.place = Asked::place,
            .user = &asked,
            .items = {0x1600, 0x3101, 0x3102},
            .chunk = kSizes,
            .most_extra = 2};
}

PlaceCallback one_callback() {
    return {.place_one = place_one,
            .items = {0x1600, 0x3101, 0x3102, 2},
            .chunk = kSizes,
            .most_extra = 2,
            .stats = {StatKind::sum, StatKind::sum, StatKind::maximum}};
}

/// Sends chunks, and returns how many came whole and right.
std::int64_t receive(const Process& process, ChunkRing& ring, std::int64_t chunks) {
    std::thread sending([&] {
        ChunkSender sender(process);
        sender.send_chunks(0, static_cast<std::uint64_t>(chunks));
        sender.send_stop();
    });
    std::int64_t next = 0;
    for (const ChunkPtr& chunk : ring) {
        EXPECT_EQ(chunk->id, next++);
        EXPECT_TRUE(chunk->complete());
        expect_right(*chunk);
    }
    sending.join();
    return next;
}

TEST(PlaceCallback, PlacesTheHeapsOfABatch) {
    const Process process(config());
    // No source waits for a chunk, so each heap is asked about once.
    ChunkRing ring(process, 14);
    ring.add(kSizes, 14);
    Asked asked;
    ChunkStream stream(process, chunk_config(), batch_callback(asked), ring, {.window = 2});
    EXPECT_EQ(receive(process, ring, 12), 12);
    const ChunkStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.callback_heaps, 12 * kHeaps);
    EXPECT_EQ(s.callback_heaps, asked.heaps.load());
    EXPECT_EQ(s.callback_calls, asked.calls.load());
    EXPECT_GT(s.callback_time.count(), 0);
    EXPECT_EQ(s.callback_rejected + s.callback_nonsense, 0U);
    EXPECT_TRUE(stream.callback_stats().empty());
}

TEST(PlaceCallback, PlacesHeapsOneByOneAndCounts) {
    const Process process(config());
    ChunkRing ring(process, 8);
    ring.add(placement(), 8);  // of the same sizes
    ChunkStream stream(process, chunk_config(), one_callback(), ring, {.window = 2});
    EXPECT_THAT(stream.callback_stats(), ElementsAre(0, 0, 0));
    EXPECT_EQ(receive(process, ring, 6), 6);
    const std::uint64_t heaps = 6 * kHeaps;
    EXPECT_THAT(stream.callback_stats(), ElementsAre(heaps, heaps / 2, 6 * kTimes - 1));
    // The counts of former lcores stay.
    stream.start();
    EXPECT_EQ(receive(process, ring, 3), 3);
    EXPECT_THAT(stream.callback_stats(), ElementsAre(heaps * 3 / 2, heaps * 3 / 4, 6 * kTimes - 1));
    stream.stop();
    EXPECT_THAT(stream.callback_stats(), ElementsAre(heaps * 3 / 2, heaps * 3 / 4, 6 * kTimes - 1));
    EXPECT_EQ(stream.stats().callback_heaps, heaps * 3 / 2);
}

TEST(PlaceCallback, HasCountersOfItsOwnOnEachLcore) {
    constexpr std::uint64_t kChunks = 6;
    const Process process(config());
    ChunkRing ring(process, kChunks + 1);
    ring.add(kSizes, kChunks + 1);
    RecvConfig c = ring_config();
    c.lcores = config().lcores;
    std::atomic<int> calls{0};
    PlaceCallback callback = one_callback();
    callback.place_one = nullptr;
    callback.place_one_with_user = place_one_for;
    callback.user = &calls;
    ChunkStream stream(process, c, callback, ring, {.window = kChunks});
    ChunkSender sender(process);
    sender.send_chunks(0, kChunks);
    while (stream.stats().bytes < kChunks * kHeaps * kHeap)
        std::this_thread::yield();
    stream.stop();
    std::uint64_t taken = 0;
    while (const ChunkPtr chunk = ring.get()) {
        expect_right(*chunk);
        taken += chunk->heaps_present;
    }
    EXPECT_EQ(taken, kChunks * kHeaps);
    EXPECT_EQ(calls.load(), static_cast<int>(taken));
    EXPECT_THAT(stream.callback_stats(), ElementsAre(taken, taken / 2, kChunks * kTimes - 1));
}

TEST(PlaceCallback, NonsenseIsCountedAndPlacesNothing) {
    const Process process(config());
    ChunkRing ring(process, 3);
    ring.add(kSizes, 3);
    PlaceCallback callback{.place =
                               [](void*, std::span<const HeapStart>, std::span<HeapPlace> places) noexcept {
                                   for (HeapPlace& p : places)
                                       p = {.chunk = 0, .heap = 0, .offset = kSizes.bytes - 1};
                               },
                           .chunk = kSizes};
    ChunkStream stream(process, chunk_config(), callback, ring, {.window = 2});
    EXPECT_EQ(receive(process, ring, 1), 0);
    const ChunkStats s = stream.stats();
    expect_sums(s);
    EXPECT_EQ(s.callback_nonsense, kHeaps);
    EXPECT_EQ(s.packets_rejected + s.packets_control, s.packets);
    EXPECT_EQ(s.chunks_opened, 0U);
}

TEST(PlaceCallback, ThatTakesMuchOfAnLcoreIsAnEvent) {
    const Process process(config());
    ChunkRing ring(process, 3);
    ring.add(kSizes, 3);
    PlaceCallback callback{.place =
                               [](void*, std::span<const HeapStart>, std::span<HeapPlace>) noexcept {
                                   const auto until =
                                       std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
                                   while (std::chrono::steady_clock::now() < until) {
                                   }
                               },
                           .chunk = kSizes};
    ChunkStream stream(process, ring_config(), callback, ring, {.window = 2});
    ChunkSender sender(process);
    const auto session = door::Session::current();
    stats::StreamSnapshot seen;
    const auto is_told = [&] {
        seen = session->on_engine([](runtime::Engine& e) { return e.snapshot().streams[0]; });
        return seen.events[static_cast<std::size_t>(stats::StreamEvent::callback_slow)] != 0;
    };
    for (std::uint64_t time = 0; time < 4000 && !is_told(); time++)
        sender.send(time, 0);
    ASSERT_TRUE(is_told());
    EXPECT_EQ(seen.last_event->kind, stats::StreamEvent::callback_slow);
    EXPECT_THAT(seen.last_event->text,
                testing::MatchesRegex("its place callback takes [0-9]+ % of the time of "
                                      "lcore [0-9]+ on CPU [0-9]+; do less .*"));
    const ChunkStats s = stream.stats();
    EXPECT_GT(s.callback_rejected, 0U);
    EXPECT_EQ(s.packets_rejected, s.packets);
}

/// Is a callback that does not return before it is released, at its destruction at the latest.
class HeldPlace {
  public:
    HeldPlace() = default;
    ~HeldPlace() { release(); }
    HeldPlace(const HeldPlace&) = delete;
    HeldPlace& operator=(const HeldPlace&) = delete;

    static void place(void* user, std::span<const HeapStart>, std::span<HeapPlace>) noexcept {
        auto& self = *static_cast<HeldPlace*>(user);
        self.entered = true;
        self.entered.notify_all();
        self.released_.wait(false);
    }
    void release() noexcept {
        released_ = true;
        released_.notify_all();
    }

    std::atomic<bool> entered{false};

  private:
    std::atomic<bool> released_{false};
};

TEST(PlaceCallback, ThatDoesNotReturnSilencesItsLcoreAndNoOther) {
    if (config().lcores.size() < 2)
        GTEST_SKIP() << "it needs two lcores";
    HeldPlace held;
    const Process process(config());
    ChunkRing ring(process, 3);
    ring.add(kSizes, 3);
    RecvConfig c = ring_config();
    c.lcores = {cpu_of(0)};
    const ChunkStream stream(process, c, {.place = HeldPlace::place, .user = &held, .chunk = kSizes}, ring);
    ChunkRing other_ring(process, 8);
    other_ring.add(placement(), 8);
    c.lcores = {cpu_of(1)};
    c.interface = "net_ring1";
    c.on_full = OnFull::block;
    const ChunkStream other(process, c, placement(), other_ring);
    ChunkSender to_held(process, c.endpoints[0], kRing, cpu_of(1));
    ChunkSender to_other(process, c.endpoints[0], c.interface, cpu_of(1));
    // Nothing may wait for the lcore when the test is over.
    struct Release {
        HeldPlace& held;
        ~Release() { held.release(); }
    } release{held};
    to_held.send(0, 0);
    held.entered.wait(false);
    const auto session = door::Session::current();
    const auto silences = [&] {
        return session->on_engine([](runtime::Engine& e) {
            std::vector<std::pair<unsigned, std::string>> all;
            for (const stats::LcoreSnapshot& l : e.snapshot().lcores)
                if (l.silent_s > 0)
                    all.emplace_back(l.cpu, l.silence());
            return all;
        });
    };
    while (silences().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const auto& [cpu, text] : silences())
        EXPECT_EQ(cpu, cpu_of(0)) << text;
    to_other.send_chunks(0, 4);
    for (std::int64_t id = 0; id < 2; id++) {
        const ChunkPtr chunk = other_ring.get_for(std::chrono::seconds(20));
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, id);
        EXPECT_TRUE(chunk->complete());
        expect_right(*chunk);
    }
    EXPECT_EQ(stream.stats().packets_placed, 0U);
    held.release();
    while (!silences().empty())
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    while (stream.stats().callback_heaps != 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST(PlaceCallback, IsRefusedWithoutOneFunctionAndSizesThatSuitTheRing) {
    const Process process(config());
    ChunkRing ring(process, 3);
    ring.add(kSizes, 3);
    const auto why = [&](auto&& change) {
        PlaceCallback c = one_callback();
        change(c);
        return refusal([&] { ChunkStream(process, ring_config(), c, ring); });
    };
    EXPECT_THAT(why([](PlaceCallback& c) { c.place_one = nullptr; }), HasSubstr("0 functions are set"));
    EXPECT_THAT(why([](PlaceCallback& c) { c.place_one_with_user = place_one_for; }),
                HasSubstr("2 functions are set"));
    EXPECT_THAT(why([](PlaceCallback& c) {
                    c.place_one = nullptr;
                    c.place = Asked::place;
                }),
                HasSubstr("`stats`"));
    EXPECT_THAT(why([](PlaceCallback& c) { c.items.resize(65); }), HasSubstr("65 items"));
    EXPECT_THAT(why([](PlaceCallback& c) { c.most_extra = 4097; }), HasSubstr("4097 extra bytes"));
    EXPECT_THAT(why([](PlaceCallback& c) { c.chunk.heaps++; }), HasSubstr("use another ring"));
    EXPECT_THAT(why([](PlaceCallback& c) { c.chunk.bytes = 0; }), HasSubstr("0 bytes"));
    EXPECT_THAT(refusal([&] { ring.add(ChunkSizes{}, 1); }), HasSubstr("0 heaps"));
    EXPECT_FALSE(process.problems().size() > 0);
}

}  // namespace
}  // namespace spead::test
