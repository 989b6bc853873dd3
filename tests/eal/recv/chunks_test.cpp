// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"
#include "tests/unit/chunk/ring_rig.hpp"

/// Tests streams whose packets go into chunks, on real mbufs.
namespace spead::recv::test {
namespace {

constexpr std::uint64_t kStep = 4096;

/// Makes a heap of one time and sender, with its items in every packet.
MadeHeap placed_heap(std::uint64_t time, std::uint64_t sender, std::size_t length, std::size_t packet) {
    MadeHeap heap{.cnt = time * 16 + sender + 1, .length = length, .packet = packet};
    heap.items = {heap.flavour.make_immediate(0x1600, time * kStep),
                  heap.flavour.make_immediate(0x4101, sender),
                  heap.flavour.make_immediate(0x3102, time + sender)};
    return heap;
}

std::vector<Bytes> frames_of(const MadeHeap& heap) {
    std::vector<Bytes> all;
    for (std::size_t at = 0; at < heap.length; at += heap.packet)
        all.push_back(frame(heap.datagram(at, std::min(heap.packet, heap.length - at), true)));
    return all;
}

/// Holds one stream that fills chunks. Its chunks are checked as they are taken.
struct ChunkRig : Rig {
    explicit ChunkRig(const std::string& text, std::size_t count = 4, bool can_wait = false,
                      chunk::ChunkWindowConfig config = {}, const std::string& format_text = {})
        : placement(chunk::Placement::parse(text)),
          chunks(count, placement.check()),
          window(config, chunks.ring) {
        if (!format_text.empty())
            format = wire::PacketFormat::parse(format_text);
        add_member(can_wait);
    }
    /// Adds a source, and a lane for its packets that fills the same chunks as the others.
    void add_member(bool can_wait) {
        Source& source = *sources[add_source()];
        LaneConfig config = lane_config("s" + std::to_string(lanes.size()), one_group());
        config.window.stop_on_stop_item = true;
        config.format = format;
        SpeadLane& lane = *lanes.emplace_back(
            std::make_unique<SpeadLane>(config, heap::PoolPlacer(arena, arena.capacity())));
        lane.chunks = std::make_unique<chunk::ChunkLane>(placement, window, lane.counters, can_wait);
        const std::uint16_t number = agent.add_lane(lane);
        EXPECT_TRUE(source.classifier.add(config.endpoints[0], {number, 0}));
        source.lanes.push_back(number);
        source.flows = FlowCache(1);
    }
    ~ChunkRig() {
        bool over = false;
        while (!over) {
            over = agent.flush();
            while (chunk::Chunk* const c = chunks.ring.take())
                chunks.ring.give_back(*c);
        }
        EXPECT_EQ(chunks.ring.free(), chunks.ring.chunks()) << "chunks did not come back";
        for (std::size_t i = 0; i < lanes.size(); i++) {
            agent.remove_lane(static_cast<std::uint16_t>(i));
            lanes[i]->chunks.reset();
        }
    }

    std::optional<wire::PacketFormat> format{};
    chunk::Placement placement;
    chunk::test::RingOfChunks chunks;
    chunk::ChunkWindow window;
};

const char* const kWhole =
    "heap 1024; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; extra u16: item "
    "0x3102; direct";
const char* const kParts = "heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; direct";

/// Expects that the chunk holds the heap at its place.
void expect_heap(const chunk::Chunk& c, std::uint64_t index, const MadeHeap& heap) {
    ASSERT_EQ(c.present[index], 1) << "heap " << index << " of chunk " << c.id;
    for (std::size_t i = 0; i < heap.length; i++)
        ASSERT_EQ(static_cast<std::uint8_t>(c.data[index * heap.length + i]), heap.byte(i)) << i;
}

/// Gives the lane a second path: the same packets to another group, by another source.
void add_second_path(ChunkRig& rig) {
    Source& second = *rig.sources[rig.add_source()];
    LaneConfig config = lane_config("two", {{{Way{}.to}, Way{}.port, {}}, {{Way{}.to + 1}, Way{}.port, {}}});
    config.window.redundant = true;
    SpeadLane& lane = *rig.lanes.emplace_back(
        std::make_unique<SpeadLane>(config, heap::PoolPlacer(rig.arena, rig.arena.capacity())));
    lane.chunks =
        std::make_unique<chunk::ChunkLane>(rig.placement, rig.window, lane.counters, false, config.window);
    lane.merge({0, 1}, 10'000'000);
    const std::uint16_t number = rig.agent.add_lane(lane);
    rig.sources[0]->classifier = {};
    rig.sources[0]->flows = FlowCache(1);
    EXPECT_TRUE(rig.sources[0]->classifier.add(config.endpoints[0], {number, 0}));
    EXPECT_TRUE(second.classifier.add(config.endpoints[1], {number, 1}));
    second.lanes.push_back(number);
    second.flows = FlowCache(1);
}

/// Lets senders count alike, as they may where every packet tells its place. Stop items tell none.
TEST(ChunkStreams, CopiesOfSendersThatCountAlikeAreNoRepeats) {
    ChunkRig rig(kWhole);
    add_second_path(rig);
    const auto give = [&rig](std::size_t path, const Bytes& datagram) {
        Way way;
        way.to += static_cast<std::uint32_t>(path);
        rig.queue(path).add(frame(datagram, way));
        while (rig.poll()) {
        }
    };
    const auto heap = [](std::uint64_t time, std::uint64_t sender) {
        MadeHeap made = placed_heap(time, sender, 1024, 1024);
        made.cnt = time + 1;
        return made.datagram(0, 1024, true);
    };
    for (std::uint64_t time = 0; time < 24; time++) {
        for (std::uint64_t sender = 0; sender < 4; sender++)
            for (std::size_t path = 0; path < 2; path++)
                give(path, heap(time, sender));
        give(1, heap(time, 2));
    }
    for (const std::size_t path : {0, 1, 1})
        give(path, stop_datagram(1000));
    const stats::StreamCounters counts = rig.lane(1).counts();
    EXPECT_EQ(counts[PacketOutcome::placed], 96U);
    EXPECT_EQ(counts[PacketOutcome::control], 1U);
    EXPECT_EQ(counts.paths[0].repeated, 0U);
    EXPECT_EQ(counts.paths[1].repeated, 24U + 1U);
    EXPECT_EQ(counts.paths[1].redundant, 96U + 1U);
    EXPECT_EQ(counts[PacketOutcome::duplicate], 25U);
}

TEST(ChunkStreams, HeapsOfOnePacketGoToTheirPlaces) {
    ChunkRig rig(kWhole);
    for (std::uint64_t time = 0; time < 24; time++)
        for (std::uint64_t sender = 0; sender < 4; sender++)
            if (time != 5 || sender != 2)
                rig.give(frames_of(placed_heap(time, sender, 1024, 1024)));
    rig.poll();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->id, 0);
    EXPECT_EQ(c->heaps_present, 31u);
    EXPECT_EQ(c->present[2 * 8 + 5], 0);
    for (std::uint64_t i = 0; i < 32; i++) {
        if (i == 2 * 8 + 5)
            continue;
        ASSERT_NO_FATAL_FAILURE(expect_heap(*c, i, placed_heap(i % 8, i / 8, 1024, 1024)));
        std::uint16_t extra = 0;
        std::memcpy(&extra, &c->extra[i * 2], 2);
        EXPECT_EQ(extra, i % 8 + i / 8);
    }
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.count(PacketOutcome::placed), 95u);
}

TEST(ChunkStreams, HeapsOfSeveralPacketsInSegmentsGoToTheirPlaces) {
    ChunkRig rig(kParts);
    std::uint64_t cut = 0;
    for (std::uint64_t time = 0; time < 9; time++)
        for (std::uint64_t sender = 0; sender < 4; sender++)
            for (const Bytes& f : frames_of(placed_heap(time, sender, 4000, 1400)))
                switch (cut++ % 3) {
                    case 0:
                        rig.give(f);
                        break;
                    case 1:
                        rig.queue().add(rig.queue().chain(f, {20 + cut % 1000}));
                        break;
                    default:
                        rig.queue().add(rig.queue().chain(f, {200, 300 + cut % 100, 1}));
                        rig.poll_all();
                }
    rig.poll_all();
    rig.agent.flush();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->complete());
    for (std::uint64_t i = 0; i < 32; i++)
        ASSERT_NO_FATAL_FAILURE(expect_heap(*c, i, placed_heap(i % 8, i / 8, 4000, 1400)));
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.count(PacketOutcome::placed), 9u * 4 * 3);
}

TEST(ChunkStreams, PacketsTooSmallForAByteEachAreTracked) {
    ChunkRig rig("heap 1000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]");
    for (std::uint64_t i = 0; i < 36; i++)
        rig.give(frames_of(placed_heap(i / 4, i % 4, 1000, 400)));
    rig.agent.flush();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->complete());
    for (std::uint64_t i = 0; i < 32; i++)
        ASSERT_NO_FATAL_FAILURE(expect_heap(*c, i, placed_heap(i % 8, i / 8, 1000, 400)));
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.count(PacketOutcome::placed), 9u * 4 * 3);
}

TEST(ChunkStreams, RowsLandAtAStride) {
    // Heaps of 8 rows of 64 bytes; the rows of the four senders lie side by side.
    ChunkRig rig(
        "heap 512; rows 64 by 256; axis sender: item 0x4101 [4] by 64; time: item 0x1600 / 4096 [2] by 2048; "
        "direct");
    for (std::uint64_t sender = 0; sender < 4; sender++)
        for (std::uint64_t time = 0; time < 2; time++) {
            const Bytes f = frames_of(placed_heap(time, sender, 512, 512))[0];
            if (sender % 2 == 0)
                rig.give(f);
            else
                rig.queue().add(rig.queue().chain(f, {150, 100}));
        }
    rig.poll_all();
    rig.agent.flush();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->complete());
    for (std::uint64_t sender = 0; sender < 4; sender++)
        for (std::uint64_t time = 0; time < 2; time++) {
            const MadeHeap heap = placed_heap(time, sender, 512, 512);
            for (std::uint64_t i = 0; i < 512; i++)
                ASSERT_EQ(
                    static_cast<std::uint8_t>(c->data[time * 2048 + sender * 64 + i / 64 * 256 + i % 64]),
                    heap.byte(i))
                    << sender << " " << time << " " << i;
        }
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
}

TEST(ChunkStreams, HeapsOfWhichOnlyTheFirstPacketTellsGoToTheirPlaces) {
    for (const char* const way : {"tracked", "automatic"}) {
        ChunkRig rig(std::string("heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; ") +
                     way);
        std::uint64_t cut = 0;
        for (std::uint64_t time = 0; time < 9; time++)
            for (std::uint64_t sender = 0; sender < 4; sender++) {
                const MadeHeap heap = placed_heap(time, sender, 4000, 1400);
                for (std::size_t at = 0; at < 4000; at += 1400) {
                    const Bytes f = frame(heap.datagram(at, std::min<std::size_t>(1400, 4000 - at), at == 0));
                    if (cut++ % 3 == 0)
                        rig.queue().add(rig.queue().chain(f, {200, 300 + cut % 100, 1}));
                    else
                        rig.give(f);
                }
            }
        rig.poll_all();
        rig.agent.flush();
        EXPECT_TRUE(rig.lane().chunks->tracks());
        chunk::Chunk* const c = rig.chunks.ring.take();
        ASSERT_NE(c, nullptr);
        // The lane goes over in the middle of the first heap.
        const std::uint64_t lost = way == std::string("tracked") ? 0 : 1;
        EXPECT_EQ(c->heaps_present, 32 - lost);
        for (std::uint64_t i = lost; i < 32; i++)
            ASSERT_NO_FATAL_FAILURE(expect_heap(*c, i, placed_heap(i % 8, i / 8, 4000, 1400)));
        EXPECT_TRUE(rig.chunks.ring.give_back(*c));
        EXPECT_EQ(rig.count(PacketOutcome::placed) + rig.count(PacketOutcome::no_item), 9U * 4 * 3);
        EXPECT_EQ(rig.count(PacketOutcome::no_item), lost * 2);
    }
}

TEST(ChunkStreams, HeapsWithAnItemPastTheirEndAreNeverComplete) {
    ChunkRig rig("heap 1000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; tracked");
    for (std::uint64_t i = 0; i < 32; i++) {  // parsers read the first, and a glance knows the others
        MadeHeap heap = placed_heap(i / 4, i % 4, 1000, 1000);
        heap.items.push_back(heap.flavour.make_address(0x5000, 4000));
        rig.give(frames_of(heap));
    }
    EXPECT_EQ(rig.count(PacketOutcome::placed), 32U);
    EXPECT_EQ(rig.lane().counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 0U);
}

TEST(ChunkStreams, ACallbackIsAskedOnceForABatch) {
    struct Asked {
        std::uint64_t calls = 0;
        static void place(void* user, std::span<const chunk::HeapStart> starts,
                          std::span<chunk::ChunkPlace> places) noexcept {
            static_cast<Asked*>(user)->calls++;
            for (std::size_t i = 0; i < starts.size(); i++) {
                const auto time = static_cast<std::uint64_t>(starts[i].values[0]) / kStep;
                const auto index = static_cast<std::uint64_t>(starts[i].values[1]) * 8 + time % 8;
                places[i].chunk = static_cast<std::int64_t>(time / 8);
                places[i].heap = index;
                places[i].offset = index * 4000;
            }
        }
    } asked;
    ChunkRig rig("heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; tracked");
    rig.lanes[0]->chunks->leave();
    rig.lanes[0]->chunks = std::make_unique<chunk::ChunkLane>(chunk::PlaceCallback{.function = Asked::place,
                                                                                   .user = &asked,
                                                                                   .items = {0x1600, 0x4101},
                                                                                   .heaps = 32,
                                                                                   .bytes = 128000},
                                                              rig.window, rig.lanes[0]->counters, false);
    for (std::uint64_t time = 0; time < 8; time++)
        for (std::uint64_t sender = 0; sender < 4; sender++) {
            const MadeHeap heap = placed_heap(time, sender, 4000, 1400);
            for (std::size_t at = 0; at < 4000; at += 1400)
                rig.queue().add(frame(heap.datagram(at, std::min<std::size_t>(1400, 4000 - at), at == 0)));
        }
    rig.poll_all();
    rig.agent.flush();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->complete());
    for (std::uint64_t i = 0; i < 32; i++)
        ASSERT_NO_FATAL_FAILURE(expect_heap(*c, i, placed_heap(i % 8, i / 8, 4000, 1400)));
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.lane().counters.callback.heaps, 32U);
    EXPECT_LT(asked.calls, 32U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 96U);
}

TEST(ChunkStreams, EachRefusalHasItsName) {
    ChunkRig rig(kWhole);
    const auto with = [&rig](PacketOutcome o, const Bytes& f) {
        const std::uint64_t before = rig.count(o);
        rig.give(f);
        EXPECT_EQ(rig.count(o), before + 1) << name_of(o);
    };
    with(PacketOutcome::placed, frames_of(placed_heap(80, 0, 1024, 1024))[0]);
    with(PacketOutcome::duplicate, frames_of(placed_heap(80, 0, 1024, 1024))[0]);
    with(PacketOutcome::late, frames_of(placed_heap(71, 0, 1024, 1024))[0]);
    with(PacketOutcome::bad_length, frames_of(placed_heap(80, 1, 1000, 1000))[0]);
    with(PacketOutcome::out_of_range, frames_of(placed_heap(80, 4, 1024, 1024))[0]);
    MadeHeap heap = placed_heap(80, 1, 1024, 1024);
    heap.items[0] = heap.flavour.make_immediate(0x1600, 80 * kStep + 1);
    with(PacketOutcome::bad_step, frames_of(heap)[0]);
    heap.items.erase(heap.items.begin());
    with(PacketOutcome::no_item, frames_of(heap)[0]);
    with(PacketOutcome::inconsistent, frame(placed_heap(80, 1, 1024, 1024).datagram(0, 1000, true)));
    rig.give(frames_of(placed_heap(88, 0, 1024, 1024)));
    rig.give(frames_of(placed_heap(96, 0, 1024, 1024)));
    rig.give(frames_of(placed_heap(104, 0, 1024, 1024)));
    rig.poll();
    with(PacketOutcome::no_chunk, frames_of(placed_heap(112, 0, 1024, 1024))[0]);
    with(PacketOutcome::control, frame(stop_datagram(7)));
    EXPECT_EQ(rig.lane().stops_seen[0], 1u);
    with(PacketOutcome::stopped, frames_of(placed_heap(112, 0, 1024, 1024))[0]);
    while (chunk::Chunk* const c = rig.chunks.ring.take())
        EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.window.open(), 0u) << "the stop ended the window";
}

TEST(ChunkStreams, ALosslessSourceWaitsForAFreeChunk) {
    ChunkRig rig(kParts, 3, true);
    std::uint64_t taken = 0;
    std::vector<std::vector<Bytes>> frames;
    for (std::uint64_t time = 0; time < 80; time++)
        for (std::uint64_t sender = 0; sender < 4; sender++)
            rig.queue().add(frames_of(placed_heap(time, sender, 4000, 1400)));
    bool waited = false;
    for (int i = 0; i < 100'000 && (rig.queue().waiting() != 0 || rig.sources[0]->waiting.count != 0); i++) {
        rig.poll();
        waited |= rig.sources[0]->waiting.count != 0;
        if (i % 50 == 49)
            if (chunk::Chunk* const c = rig.chunks.ring.take()) {
                EXPECT_TRUE(c->complete()) << c->id;
                EXPECT_EQ(c->id, static_cast<std::int64_t>(taken++));
                for (std::uint64_t h = 0; h < 32; h++)
                    ASSERT_NO_FATAL_FAILURE(expect_heap(
                        *c, h,
                        placed_heap(static_cast<std::uint64_t>(c->id) * 8 + h % 8, h / 8, 4000, 1400)));
                EXPECT_TRUE(rig.chunks.ring.give_back(*c));
            }
    }
    EXPECT_TRUE(waited);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 80u * 4 * 3);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0u);
}

/// Returns a packet of a format: time, sender, then 700 bytes that only this packet has.
Bytes formatted(std::uint32_t time, std::uint16_t sender) {
    Bytes datagram(12 + 700);
    store_be32(datagram.data(), time);
    store_be16(&datagram[4], sender);
    for (std::size_t i = 12; i < datagram.size(); i++)
        datagram[i] = static_cast<std::uint8_t>(time * 7 + sender * 3 + i);
    return frame(datagram);
}

TEST(ChunkStreams, PacketsOfAFormatGoToTheirPlacesAndWait) {
    ChunkRig rig("heap 700; axis sender: item 0x4101 [4]; time: item 0x1600 [8]", 3, true, {},
                 "header 12; field t: u32 at 0; field s: u16 at 4; item 0x1600: t; item 0x4101: s; "
                 "count t * 65536 + s");
    for (std::uint32_t time = 0; time < 80; time++)
        for (std::uint16_t sender = 0; sender < 4; sender++) {
            const Bytes f = formatted(time, sender);
            rig.queue().add(time % 3 == 0 ? rig.queue().chain(f, {1 + time * 5, 30}) : rig.pool.make(f));
        }
    bool waited = false;
    std::uint64_t taken = 0;
    for (int i = 0; i < 100'000 && taken < 9; i++) {
        rig.poll();
        waited |= rig.sources[0]->waiting.count != 0;
        chunk::Chunk* const c = i % 50 == 49 ? rig.chunks.ring.take() : nullptr;
        if (c == nullptr)
            continue;
        EXPECT_TRUE(c->complete()) << c->id;
        EXPECT_EQ(c->id, static_cast<std::int64_t>(taken++));
        for (std::size_t h = 0; h < 32; h++) {
            const Bytes f = formatted(static_cast<std::uint32_t>(static_cast<std::size_t>(c->id) * 8 + h % 8),
                                      static_cast<std::uint16_t>(h / 8));
            ASSERT_EQ(std::memcmp(&c->data[h * 700], &f[f.size() - 700], 700), 0) << c->id << ' ' << h;
        }
        EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    }
    EXPECT_TRUE(waited);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 80u * 4);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0u);
}

TEST(ChunkStreams, AnIdleLcoreThatNeverRestsHandsOver) {
    ChunkRig rig(kParts, 4, false, {.timeout_ticks = 5000});
    rig.give(frames_of(placed_heap(0, 0, 4000, 1400)));
    rig.now += 10'000;
    rig.agent.housekeep(rig.now);
    rig.poll();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr) << "no packet came since, and no batch";
    EXPECT_EQ(c->heaps_present, 1u);
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
}

TEST(ChunkStreams, AHeapOfAnotherKindDoesNotDecideTheCut) {
    ChunkRig rig("heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]");
    MadeHeap strange = placed_heap(0, 1, 9000, 1000);
    strange.items.clear();
    rig.give(strange.frames());
    for (std::uint64_t i = 0; i < 32; i++)
        rig.give(frames_of(placed_heap(i / 4, i % 4, 4000, 1400)));
    rig.agent.flush();
    chunk::Chunk* const c = rig.chunks.ring.take();
    ASSERT_NE(c, nullptr);
    EXPECT_TRUE(c->complete());
    EXPECT_FALSE(rig.lane().chunks->tracks());
    EXPECT_TRUE(rig.chunks.ring.give_back(*c));
    EXPECT_EQ(rig.others(PacketOutcome::placed), 9u);
}

TEST(ChunkStreams, PacketsBeforeAStopInItsBatchAreTaken) {
    ChunkRig rig(kParts, 4);
    for (std::uint64_t time = 0; time < 8; time++)
        rig.queue().add(frames_of(placed_heap(time, 0, 4000, 1400)));
    rig.queue().add(frame(stop_datagram(999)));
    rig.queue().add(frames_of(placed_heap(8, 0, 4000, 1400)));
    rig.poll_all();
    EXPECT_EQ(rig.count(PacketOutcome::placed), 24u);
    EXPECT_EQ(rig.count(PacketOutcome::control), 1u);
    EXPECT_EQ(rig.count(PacketOutcome::stopped), 3u);
}

TEST(ChunkStreams, WhatWaitsAtTheEndIsCounted) {
    ChunkRig rig(kParts, 2, true);
    for (std::uint64_t time = 0; time < 32; time++)
        rig.queue().add(frames_of(placed_heap(time, 0, 4000, 1400)));
    for (int i = 0; i < 100; i++)
        rig.poll();
    EXPECT_NE(rig.sources[0]->waiting.count, 0u);
    rig.agent.drop_rest();
    EXPECT_EQ(rig.sources[0]->waiting.count, 0u);
    EXPECT_NE(rig.count(PacketOutcome::no_chunk), 0u);
    rig.poll_all();
}

TEST(ChunkStreams, AMemberThatIsWaitedForLeavesAtTheEnd) {
    ChunkRig rig(kParts, 4, true, {.eviction = chunk::Eviction::lossless});
    rig.add_member(true);
    rig.queue(1).add(frames_of(placed_heap(0, 1, 4000, 1400)));
    for (std::uint64_t time = 0; time < 20; time++)
        rig.queue(0).add(frames_of(placed_heap(time, 0, 4000, 1400)));
    for (int i = 0; i < 200; i++)
        rig.poll();
    ASSERT_NE(rig.sources[0]->waiting.count, 0u) << "for the other member";
    std::uint64_t taken = 0;
    bool over = false;
    for (int i = 0; i < 1000 && !over; i++) {
        over = rig.agent.flush();
        while (chunk::Chunk* const c = rig.chunks.ring.take()) {
            taken++;
            EXPECT_TRUE(rig.chunks.ring.give_back(*c));
        }
    }
    EXPECT_TRUE(over) << "its source has ended, and nobody else lets the packets go on";
    EXPECT_EQ(taken, 3u);
    EXPECT_EQ(rig.count(PacketOutcome::placed, 0), 60u);
}

}  // namespace
}  // namespace spead::recv::test
