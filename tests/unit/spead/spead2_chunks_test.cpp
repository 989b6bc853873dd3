// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "spead/chunk.hpp"
#include "spead/readers.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/recv/local_lane.hpp"
#include "tests/unit/spead/place_in_turn.hpp"

/// Tests chunks as a program has them that comes from spead2: its place callback, its window, four buffers.
namespace spead::test::like_spead2 {
namespace {

using recv::test::Bytes;
using recv::test::MadeHeap;
using Ids = std::vector<std::int64_t>;

constexpr std::size_t kHeapBytes = 900;
constexpr std::size_t kPacketBytes = 300;
constexpr std::size_t kHeaps = 3;  ///< of a chunk
constexpr std::uint64_t kItem = 0x1600;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

constexpr PlaceOneFunction place_in_turn = place_in_turn_of<kHeaps, kHeapBytes>;

/// Does so where presence is by packet.
void place_by_packet(void* data, std::size_t size) {
    place_in_turn(data, size);
    static_cast<PlaceData*>(data)->heap_index *= kHeapBytes / kPacketBytes;
}

/// Puts heaps into the chunks with the largest ids: the value counts down from there.
void place_at_the_end(void* data, std::size_t size) {
    ASSERT_GE(size, sizeof(PlaceData));
    auto& d = *static_cast<PlaceData*>(data);
    d.chunk_id = kLargest - d.items[0];
    d.heap_index = 0;
    d.heap_offset = 0;
}

/// Stores values of the first packet beside the heap's payload: its heap's count and length, its payload's
/// offset and length.
void place_with_extra(void* data, std::size_t size) {
    place_in_turn(data, size);
    auto& d = *static_cast<PlaceData*>(data);
    std::memcpy(d.extra, d.items + 1, 4 * sizeof(std::int64_t));
    d.extra_size = 4 * sizeof(std::int64_t);
    d.extra_offset = d.heap_index * d.extra_size;
}

PlaceCallback callback_of(PlaceOneFunction place) {
    return {.place_one = place, .items = {kItem}, .chunk = {.heaps = kHeaps, .bytes = kHeaps * kHeapBytes}};
}

MadeHeap heap_of(std::uint64_t n) {
    MadeHeap heap{.cnt = n + 1, .length = kHeapBytes, .packet = kPacketBytes};
    heap.items = {heap.flavour.make_immediate(kItem, n)};
    return heap;
}

/// Receives into four chunks through a window of four, and keeps what the user of a real stream would see.
class Spead2Chunks {
  public:
    explicit Spead2Chunks(const PlaceCallback& callback) : ring_(4) {
        ring_.add(callback.chunk, 4);
        stream_ = std::make_unique<ChunkStream>(RecvConfig{}, Reader::queue(queue_), callback, ring_,
                                                ChunkConfig{.window = 4, .max_jump = 0, .back_fill = true});
        user_ = std::thread([this] {
            for (const ChunkPtr& chunk : ring_)
                keep(*chunk);
        });
    }
    ~Spead2Chunks() { finish(); }

    struct Seen {
        std::int64_t id;
        std::vector<std::uint8_t> present;
        std::vector<std::byte> data;
        std::vector<std::byte> extra;
        bool operator==(const Seen&) const = default;
    };

    void send(std::uint64_t n) {
        for (const Bytes& d : heap_of(n).datagrams())
            push(d);
    }
    /// Sends one packet of a heap.
    void send(std::uint64_t n, std::size_t packet) {
        push(heap_of(n).datagram(packet * kPacketBytes, kPacketBytes, packet == 0));
    }
    /// Sends the first packet of each chunk's first heap.
    void open(const Ids& ids) {
        for (const std::int64_t id : ids)
            send(static_cast<std::uint64_t>(id) * kHeaps, 0);
    }
    /// Ends the source, and returns the ids of the chunks that came, in order.
    Ids finish() {
        queue_.stop();
        if (user_.joinable())
            user_.join();
        Ids ids;
        for (const Seen& s : seen_)
            ids.push_back(s.id);
        return ids;
    }
    const Seen& of(std::int64_t id) const {
        static const Seen none{};
        for (const Seen& s : seen_)
            if (s.id == id)
                return s;
        ADD_FAILURE() << "no chunk " << id;
        return none;
    }
    ChunkStats stats() const { return stream_->stats(); }

  private:
    void push(const Bytes& d) { ASSERT_TRUE(queue_.push(std::as_bytes(std::span(d)))); }
    void keep(const Chunk& c) {
        seen_.push_back({c.id,
                         {c.present.begin(), c.present.end()},
                         {c.data.begin(), c.data.end()},
                         {c.extra.begin(), c.extra.end()}});
    }

    InprocQueue queue_;
    ChunkRing ring_;
    std::unique_ptr<ChunkStream> stream_;
    std::vector<Seen> seen_;  ///< by the user's thread until it ends
    std::thread user_;
};

using Present = std::vector<std::uint8_t>;

void expect_payload(const Spead2Chunks::Seen& chunk, std::uint64_t n) {
    for (std::size_t i = 0; i < kHeapBytes; i++)
        ASSERT_EQ(std::to_integer<std::uint8_t>(chunk.data[n % kHeaps * kHeapBytes + i]),
                  heap::test::pattern(n + 1, i))
            << "byte " << i << " of heap " << n;
}

TEST(Spead2Chunks, InOrder) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    for (std::uint64_t n = 0; n < 20 * kHeaps; n++)
        chunks.send(n);
    Ids all;
    for (std::int64_t id = 0; id < 20; id++)
        all.push_back(id);
    EXPECT_EQ(chunks.finish(), all);
    for (std::uint64_t n = 0; n < 20 * kHeaps; n++) {
        const auto& chunk = chunks.of(static_cast<std::int64_t>(n / kHeaps));
        EXPECT_EQ(chunk.present, Present(kHeaps, 1));
        expect_payload(chunk, n);
    }
    EXPECT_EQ(chunks.stats().packets_placed, chunks.stats().packets);
    EXPECT_EQ(chunks.stats().chunks_skipped, 0U);
}

TEST(Spead2Chunks, OutOfOrderWithinTheWindow) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    const std::vector<std::uint64_t> order{11, 0, 7, 3, 1, 10, 2, 8, 4, 9, 6, 5};
    for (const std::uint64_t n : order)
        chunks.send(n);
    EXPECT_EQ(chunks.finish(), (Ids{0, 1, 2, 3}));
    for (const std::uint64_t n : order)
        expect_payload(chunks.of(static_cast<std::int64_t>(n / kHeaps)), n);
    EXPECT_EQ(chunks.stats().heaps_present, order.size());
}

TEST(Spead2Chunks, AJumpComesWithTheEmptyChunksOfItsWindow) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    for (const std::uint64_t n : {10 * kHeaps, 20 * kHeaps + 1})
        chunks.send(n);
    EXPECT_EQ(chunks.finish(), (Ids{7, 8, 9, 10, 17, 18, 19, 20}));
    for (const std::int64_t id : {7, 8, 9, 17, 18, 19})
        EXPECT_EQ(chunks.of(id).present, Present(kHeaps, 0)) << id;
    EXPECT_EQ(chunks.of(10).present, (Present{1, 0, 0}));
    EXPECT_EQ(chunks.of(20).present, (Present{0, 1, 0}));
    EXPECT_EQ(chunks.stats().packets_placed, chunks.stats().packets);
    EXPECT_EQ(chunks.stats().chunks_skipped, 6U) << "11 to 16";
}

TEST(Spead2Chunks, SmallGapsAreFilledAndIdsAreNeverNegative) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    chunks.open({2, 4, 7});
    EXPECT_EQ(chunks.finish(), (Ids{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Spead2Chunks, AHeapWhoseChunkHasLeftIsLate) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    chunks.send(10 * kHeaps);
    chunks.send(20 * kHeaps);
    chunks.send(16 * kHeaps);
    chunks.send(17 * kHeaps);
    EXPECT_EQ(chunks.finish(), (Ids{7, 8, 9, 10, 17, 18, 19, 20}));
    EXPECT_EQ(chunks.stats().packets_late, kHeapBytes / kPacketBytes);
    EXPECT_EQ(chunks.stats().heaps_present, 3U);
    EXPECT_EQ(chunks.of(17).present, (Present{1, 0, 0}));
}

TEST(Spead2Chunks, APacketWhoseChunkHasLeftIsLate) {
    Spead2Chunks chunks(callback_of(place_in_turn));
    const std::uint64_t n = 10 * kHeaps;
    chunks.send(n, 0);
    chunks.send(n, 1);
    chunks.send(20 * kHeaps);
    chunks.send(n, 2);
    EXPECT_EQ(chunks.finish(), (Ids{7, 8, 9, 10, 17, 18, 19, 20}));
    EXPECT_EQ(chunks.of(10).present, Present(kHeaps, 0)) << "its heap is not complete";
    EXPECT_EQ(chunks.stats().packets_late, 1U);
    EXPECT_EQ(chunks.stats().packets_placed, chunks.stats().packets - 1);
}

TEST(Spead2Chunks, PresenceByPacket) {
    PlaceCallback callback = callback_of(place_by_packet);
    callback.chunk.packets_per_heap = kHeapBytes / kPacketBytes;
    callback.chunk.packet_bytes = kPacketBytes;
    Spead2Chunks chunks(callback);
    chunks.send(0, 0);
    chunks.send(0, 2);
    chunks.send(1);
    EXPECT_EQ(chunks.finish(), (Ids{0}));
    EXPECT_EQ(chunks.of(0).present, (Present{1, 0, 1, 1, 1, 1, 0, 0, 0}));
}

TEST(Spead2Chunks, ExtraDataOfTheFirstPacketsValues) {
    PlaceCallback callback = callback_of(place_with_extra);
    callback.items = {kItem, 1, 2, 3, 4};
    callback.most_extra = 4 * sizeof(std::int64_t);
    callback.chunk.extra_bytes = kHeaps * callback.most_extra;
    Spead2Chunks chunks(callback);
    for (std::uint64_t n = 0; n < kHeaps; n++)
        chunks.send(n);
    EXPECT_EQ(chunks.finish(), (Ids{0}));
    const auto& extra = chunks.of(0).extra;
    ASSERT_EQ(extra.size(), callback.chunk.extra_bytes);
    for (std::uint64_t n = 0; n < kHeaps; n++) {
        std::array<std::int64_t, 4> values{};
        std::memcpy(values.data(), extra.data() + n * sizeof(values), sizeof(values));
        EXPECT_EQ(values, (std::array<std::int64_t, 4>{static_cast<std::int64_t>(n + 1), kHeapBytes, 0,
                                                       kPacketBytes}));
    }
}

TEST(Spead2Chunks, IdsUpToTheLargest) {
    Spead2Chunks chunks(callback_of(place_at_the_end));
    for (const std::uint64_t below : {9, 8, 1, 0, 2})
        chunks.send(below);
    EXPECT_EQ(chunks.finish(), (Ids{kLargest - 12, kLargest - 11, kLargest - 10, kLargest - 9, kLargest - 8,
                                    kLargest - 4, kLargest - 3, kLargest - 2, kLargest - 1, kLargest}));
    EXPECT_EQ(chunks.stats().packets_placed, chunks.stats().packets);
    EXPECT_EQ(chunks.of(kLargest).present, (Present{1, 0, 0}));
    EXPECT_EQ(chunks.of(kLargest - 3).present, (Present{0, 0, 0}));
}

TEST(Spead2Chunks, OnlyBackFillingDoesWithAsManyChunksAsTheWindow) {
    const PlaceCallback callback = callback_of(place_in_turn);
    InprocQueue queue;
    ChunkRing ring(4);
    ring.add(callback.chunk, 4);
    expect_usage_error([&] { ChunkStream({}, Reader::queue(queue), callback, ring, {.window = 4}); },
                       {"at least 1 with the user = 5 chunks", "4 were added"});
    expect_usage_error(
        [&] { ChunkStream({}, Reader::queue(queue), callback, ring, {.window = 5, .back_fill = true}); },
        {"4 were added"});
}

}  // namespace
}  // namespace spead::test::like_spead2
