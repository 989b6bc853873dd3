// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <gmock/gmock.h>
#include <poll.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "spead/chunk.hpp"
#include "spead/readers.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/udp_sender.hpp"
#include "tests/unit/recv/local_lane.hpp"

/// Tests streams of chunks without EAL, in a process that never starts EAL.
namespace spead::test {
namespace {

using namespace std::chrono_literals;
using recv::test::Bytes;
using recv::test::MadeHeap;
using testing::HasSubstr;

constexpr std::size_t kHeapBytes = 1000;
constexpr std::uint64_t kTimes = 4;
constexpr std::uint64_t kSenders = 2;
constexpr std::uint64_t kStep = 256;

Placement small_placement() {
    Placement p(kHeapBytes);
    p.axis("sender", item(0x4101), kSenders).time(item(0x1600) / kStep, kTimes);
    return p;
}

/// Returns the datagrams of a heap, whose count says its place.
std::vector<Bytes> datagrams_of(std::uint64_t time, std::uint64_t sender) {
    MadeHeap heap{.cnt = 1 + time * kSenders + sender, .length = kHeapBytes, .packet = 400};
    heap.items = {heap.flavour.make_immediate(0x1600, time * kStep),
                  heap.flavour.make_immediate(0x4101, sender)};
    std::vector<Bytes> all;
    for (std::size_t at = 0; at < heap.length; at += heap.packet)
        all.push_back(heap.datagram(at, std::min(heap.packet, heap.length - at), true));
    return all;
}

std::vector<Bytes> datagrams_of_chunks(std::uint64_t chunks) {
    std::vector<Bytes> all;
    for (std::uint64_t time = 0; time < chunks * kTimes; time++)
        for (std::uint64_t sender = 0; sender < kSenders; sender++)
            for (Bytes& d : datagrams_of(time, sender))
                all.push_back(std::move(d));
    return all;
}

Bytes in_one(const std::vector<Bytes>& datagrams) {
    Bytes all;
    for (const Bytes& d : datagrams)
        all.insert(all.end(), d.begin(), d.end());
    return all;
}

std::span<const std::byte> raw(const Bytes& b) {
    return {reinterpret_cast<const std::byte*>(b.data()), b.size()};
}

void expect_whole_chunk(const Chunk& chunk) {
    ASSERT_TRUE(chunk.complete());
    ASSERT_EQ(chunk.data.size(), kTimes * kSenders * kHeapBytes);
    for (std::uint64_t sender = 0; sender < kSenders; sender++)
        for (std::uint64_t t = 0; t < kTimes; t++) {
            const std::uint64_t place = sender * kTimes + t;
            const std::uint64_t cnt =
                1 + (static_cast<std::uint64_t>(chunk.id) * kTimes + t) * kSenders + sender;
            ASSERT_EQ(chunk.present[place], 1U);
            for (std::size_t i = 0; i < kHeapBytes; i++)
                ASSERT_EQ(std::to_integer<std::uint8_t>(chunk.data[place * kHeapBytes + i]),
                          heap::test::pattern(cnt, i))
                    << "byte " << i << " of heap " << cnt;
        }
}

void expect_chunk_sums(const ChunkStats& s) {
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate + s.packets_late + s.packets_future +
                             s.packets_no_chunk + s.packets_no_memory + s.packets_filtered + s.packets_held +
                             s.packets_control + s.packets_stopped + s.packets_captured + s.packets_rejected);
    EXPECT_EQ(s.chunks_opened, s.chunks_handed_over);
}

TEST(LocalChunkStream, FillsChunksFromMemoryAndEnds) {
    const Bytes packets = in_one(datagrams_of_chunks(50));
    ChunkRing ring(4);
    ring.add(small_placement(), 4);
    EXPECT_FALSE(ring.ended());
    ChunkStream stream({}, Reader::buffer(raw(packets)), small_placement(), ring, {.stream = 9});
    EXPECT_THAT(stream.name(), HasSubstr("local"));
    for (std::int64_t from : {0, 50}) {
        // The source waits for the user: with 4 chunks nothing is lost.
        std::int64_t next = 0;
        for (const ChunkPtr& chunk : ring) {
            EXPECT_EQ(chunk->id, next++);
            EXPECT_EQ(chunk->stream, 9U);
            EXPECT_GT(chunk->first_time, 1'600'000'000'000'000'000U);
            EXPECT_LE(chunk->first_time, chunk->last_time);
            expect_whole_chunk(*chunk);
        }
        EXPECT_EQ(next, 50);
        EXPECT_TRUE(ring.ended());
        const ChunkStats s = stream.stats();
        expect_chunk_sums(s);
        EXPECT_EQ(s.chunks_taken, static_cast<std::uint64_t>(from + 50));
        EXPECT_EQ(s.chunks_complete, s.chunks_taken);
        EXPECT_EQ(s.packets_placed, s.packets);
        EXPECT_EQ(s.packets, static_cast<std::uint64_t>(from + 50) * kTimes * kSenders * 3);
        EXPECT_EQ(s.packets_lost, 0U);
        EXPECT_EQ(ring.counts().free, 4U);
        // Again, with a new window.
        if (from == 0)
            stream.start();
    }
    EXPECT_EQ(rte_get_tsc_hz(), 0U) << "EAL was started";
}

/// Places as small_placement() does, and counts the heaps that it saw.
void place_small(void* user, std::span<const HeapStart> heaps, std::span<HeapPlace> places) noexcept {
    *static_cast<std::uint64_t*>(user) += heaps.size();
    for (std::size_t i = 0; i < heaps.size(); i++) {
        const auto time = static_cast<std::uint64_t>(heaps[i].values[0]) / kStep;
        const auto sender = static_cast<std::uint64_t>(heaps[i].values[1]);
        places[i].chunk = static_cast<std::int64_t>(time / kTimes);
        places[i].heap = sender * kTimes + time % kTimes;
        places[i].offset = places[i].heap * kHeapBytes;
    }
}

TEST(LocalChunkStream, AsksACallback) {
    const Bytes packets = in_one(datagrams_of_chunks(20));
    const ChunkSizes sizes{.heaps = kTimes * kSenders, .bytes = kTimes * kSenders * kHeapBytes};
    std::uint64_t seen = 0;
    const PlaceCallback callback{
        .place = place_small, .user = &seen, .items = {0x1600, 0x4101}, .chunk = sizes};
    // The source waits for no chunk, so each heap is asked about once.
    ChunkRing ring(22);
    ring.add(sizes, 22);
    ChunkStream stream({}, Reader::buffer(raw(packets)), callback, ring);
    std::int64_t next = 0;
    for (const ChunkPtr& chunk : ring) {
        EXPECT_EQ(chunk->id, next++);
        expect_whole_chunk(*chunk);
    }
    EXPECT_EQ(next, 20);
    const ChunkStats s = stream.stats();
    expect_chunk_sums(s);
    EXPECT_EQ(s.packets_placed, s.packets);
    EXPECT_EQ(s.callback_heaps, 20 * kTimes * kSenders);
    EXPECT_EQ(s.callback_heaps, seen);
    EXPECT_GT(s.callback_time.count(), 0);
}

TEST(LocalChunkStream, TakesAQueueWhoseSenderGoesOn) {
    InprocQueue queue;
    ChunkRing ring(4);
    ring.add(small_placement(), 4);
    ChunkStream stream({.name = "q"}, Reader::queue(queue), small_placement(), ring);
    EXPECT_EQ(stream.name(), "q");
    EXPECT_FALSE(ring.try_get());
    EXPECT_FALSE(ring.get_for(1ms));
    pollfd p{ring.fd(), POLLIN, 0};
    for (const Bytes& d : datagrams_of_chunks(3))
        ASSERT_TRUE(queue.push(raw(d)));
    // The first of three has left the window of two.
    ASSERT_EQ(poll(&p, 1, 20'000), 1);
    const ChunkPtr first = ring.try_get();
    ASSERT_TRUE(first);
    expect_whole_chunk(*first);
    while (queue.size() != 0)
        std::this_thread::yield();
    stream.stop();
    for (const std::int64_t id : {1, 2}) {
        const ChunkPtr chunk = ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->id, id);
    }
    EXPECT_FALSE(ring.get());
    expect_chunk_sums(stream.stats());
    stream.start();
    EXPECT_FALSE(ring.ended());
    for (const Bytes& d : datagrams_of(100, 1))
        ASSERT_TRUE(queue.push(raw(d)));
    queue.stop();
    const ChunkPtr late = ring.get();
    ASSERT_TRUE(late);
    EXPECT_EQ(late->id, 25);
    EXPECT_EQ(late->heaps_present, 1U);
    EXPECT_FALSE(ring.get());
}

TEST(LocalChunkStream, FillsTheUsersBuffersThroughSocketsOfTheKernel) {
    const std::uint16_t port = recv::test::free_port();
    const Placement placement = small_placement();
    std::vector<std::vector<std::byte>> data(3, std::vector<std::byte>(placement.bytes()));
    std::vector<std::vector<std::uint8_t>> present(3,
                                                   std::vector<std::uint8_t>(placement.present_bytes(), 7));
    ChunkRing ring(3);
    for (std::size_t i = 0; i < 3; i++)
        ring.add(placement, data[i], present[i], {}, &data[i]);
    RecvConfig c;
    c.endpoints = {"239.255.77.10:" + std::to_string(port)};
    c.interface = "lo";
    c.backend = Backend::kernel;
    ChunkStream stream(c, placement, ring);
    const recv::test::UdpSender sender({{0xEFFF4D0A}, port, {}});
    std::uint64_t sent = 0;
    for (const Bytes& d : datagrams_of_chunks(1)) {
        sender.send(d);
        sent++;
    }
    while (stream.stats().packets != sent)
        std::this_thread::yield();
    stream.stop();
    const ChunkPtr chunk = ring.get();
    ASSERT_TRUE(chunk);
    expect_whole_chunk(*chunk);
    EXPECT_EQ(chunk->data.data(), static_cast<std::vector<std::byte>*>(chunk->user)->data());
    EXPECT_EQ(stream.stats().bytes, kTimes * kSenders * kHeapBytes);
}

TEST(LocalChunkStream, HandsAnIdleChunkOver) {
    InprocQueue queue;
    ChunkRing ring(3);
    ring.add(small_placement(), 3);
    ChunkStream stream({}, Reader::queue(queue), small_placement(), ring, {.timeout = 1ms});
    for (const Bytes& d : datagrams_of(0, 0))
        ASSERT_TRUE(queue.push(raw(d)));
    const ChunkPtr chunk = ring.get();
    ASSERT_TRUE(chunk);
    EXPECT_FALSE(chunk->complete());
    EXPECT_GE(stream.stats().chunks_timed_out, 1U);
}

TEST(LocalChunkStream, CountsPacketsWhenItsUserKeepsAllChunks) {
    const Bytes packets = in_one(datagrams_of_chunks(10));
    std::vector<ChunkPtr> held;
    ChunkRing ring(3);
    ring.add(small_placement(), 3);
    RecvConfig c;
    c.on_full = OnFull::drop_newest;
    ChunkStream stream(c, Reader::buffer(raw(packets)), small_placement(), ring);
    while (ChunkPtr chunk = ring.get())
        held.push_back(std::move(chunk));
    const ChunkStats s = stream.stats();
    EXPECT_EQ(s.packets, 10 * kTimes * kSenders * 3);
    EXPECT_EQ(held.size(), 3U);
    EXPECT_GT(s.packets_no_chunk, 0U);
    expect_chunk_sums(s);
}

TEST(LocalChunkStream, IsDestroyedWhileItsSourceWaits) {
    const Bytes packets = in_one(datagrams_of_chunks(20));
    for (int i = 0; i < 10; i++) {
        ChunkPtr kept;
        {
            ChunkRing ring(3);
            ring.add(small_placement(), 3);
            const ChunkStream stream({}, Reader::buffer(raw(packets)), small_placement(), ring);
            if (i % 2 == 0)
                kept = ring.get();
        }
        if (kept)
            expect_whole_chunk(*kept);
    }
}

TEST(LocalChunkStream, SharesARing) {
    const Bytes packets = in_one(datagrams_of_chunks(6));
    ChunkRing ring(8);
    ring.add(small_placement(), 8);
    InprocQueue queue;
    ChunkStream waiting({}, Reader::queue(queue), small_placement(), ring, {.stream = 2});
    const ChunkStream stream({}, Reader::buffer(raw(packets)), small_placement(), ring, {.stream = 1});
    for (std::int64_t id = 0; id < 6; id++) {
        const ChunkPtr chunk = ring.get();
        ASSERT_TRUE(chunk);
        EXPECT_EQ(chunk->stream, 1U);
        EXPECT_EQ(chunk->id, id);
    }
    EXPECT_FALSE(ring.ended()) << "another stream fills it";
    queue.stop();
    EXPECT_FALSE(ring.get());
    EXPECT_TRUE(ring.ended());
}

TEST(LocalChunkStream, RefusesWhatItCannotBe) {
    ChunkRing ring(3);
    const Bytes packets = in_one(datagrams_of_chunks(1));
    const Reader reader = Reader::buffer(raw(packets));
    expect_usage_error([&] { ChunkStream({}, small_placement(), ring); }, {"Backend::kernel"});
    expect_usage_error([&] { ChunkStream({}, reader, small_placement(), ring); }, {"0 were added"});
    ring.add(small_placement(), 3);
    expect_usage_error([&] { ChunkStream({.name = "x", .lend = 4}, reader, small_placement(), ring); },
                       {"receive x", "`lend`"});
    expect_usage_error([&] { ChunkStream({}, reader, small_placement(), ring, {.window = 0}); }, {"window"});
    expect_usage_error([&] { ChunkStream({}, Reader::pcap("/nowhere"), small_placement(), ring); },
                       {"endpoint"});
    RecvConfig c;
    c.endpoints = {"239.1.2.3:7148"};
    expect_passing_error([&] { ChunkStream(c, Reader::pcap("/nowhere"), small_placement(), ring); },
                         {"/nowhere"});
    EXPECT_FALSE(ring.ended()) << "no stream has begun";
    EXPECT_EQ(ring.counts().free, 3U);
    ring.stop();
    EXPECT_FALSE(ring.get());
}

}  // namespace
}  // namespace spead::test
