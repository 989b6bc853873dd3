// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "spead/chunk.hpp"
#include "spead/readers.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/recv/local_lane.hpp"
#include "tests/unit/spead/place_in_turn.hpp"

/// Tests chunks that their users bring: through queues and streams, each with sizes of its own.
namespace spead::test::loose {
namespace {

using recv::test::Bytes;
using recv::test::MadeHeap;

constexpr std::size_t kHeapBytes = 600;
constexpr std::size_t kPacketBytes = 300;
constexpr std::size_t kHeaps = 4;  ///< of a chunk
constexpr std::uint64_t kItem = 0x1600;

constexpr PlaceOneFunction place_in_turn = place_in_turn_of<kHeaps, kHeapBytes>;

/// Does so where presence is by packet, from the second byte on.
void place_by_packet(void* data, std::size_t size) {
    place_in_turn(data, size);
    auto& d = *static_cast<PlaceData*>(data);
    d.heap_index = d.heap_index * (kHeapBytes / kPacketBytes) + 1;
}

/// Puts heap n into chunk n / kHeaps + user.
void place_with_bias(void* data, std::size_t size, void* user) {
    place_in_turn(data, size);
    static_cast<PlaceData*>(data)->chunk_id += *static_cast<std::int64_t*>(user);
}

PlaceCallback callback_of(PlaceOneFunction place) {
    return {.place_one = place, .items = {kItem}, .chunk = {.by_chunk = true}};
}

/// Brings memory.
struct Owned {
    explicit Owned(std::size_t heaps = kHeaps, std::size_t present = kHeaps)
        : data(heaps * kHeapBytes), flags(present) {
        chunk.set_memory(data, flags);
    }
    std::vector<std::byte> data;
    std::vector<std::uint8_t> flags;
    LooseChunk chunk{this};
};

/// Sends heaps into a queue of datagrams.
void send(InprocQueue& queue, const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t n : numbers) {
        MadeHeap heap{.cnt = n + 1, .length = kHeapBytes, .packet = kPacketBytes};
        heap.items = {heap.flavour.make_immediate(kItem, n)};
        for (const Bytes& d : heap.datagrams())
            queue.push(std::as_bytes(std::span(d)));
    }
}

/// Returns the next chunk; null: none came in 10 s, or the queue has ended.
LooseChunk* next(ChunkQueue& queue) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < until) {
        const bool over = queue.stopped();
        if (LooseChunk* const chunk = queue.take())
            return chunk;
        if (over)
            return nullptr;
        pollfd p{queue.data_fd(), POLLIN, 0};
        poll(&p, 1, 100);
    }
    return nullptr;
}

/// Expects a UsageError with this in its text.
template <typename Action>
void refuses(Action&& action, const char* why) {
    EXPECT_NE(std::string::npos, usage_error_of(std::forward<Action>(action)).find(why));
}

const ChunkConfig kLikeSpead2{.window = 2, .max_jump = 0, .back_fill = true, .stream = 7};

RecvConfig waiting() {
    RecvConfig c;
    c.on_full = OnFull::block;
    return c;
}

using Flags = std::vector<std::uint8_t>;

TEST(LooseChunks, PassAStreamWithTheirOwnMemory) {
    ChunkQueue free(4);
    ChunkQueue full(4);
    Owned a;
    Owned b;
    ASSERT_EQ(ChunkQueue::Put::done, free.put(a.chunk));
    ASSERT_EQ(ChunkQueue::Put::done, free.put(b.chunk));
    EXPECT_FALSE(a.chunk.is_mine());
    InprocQueue queue;
    send(queue, {0, 1, 3, 5});
    queue.stop();
    ChunkRing ring(free, full);
    const ChunkStream stream(waiting(), Reader::queue(queue), callback_of(place_in_turn), ring, kLikeSpead2);
    LooseChunk* first = next(full);
    LooseChunk* second = next(full);
    ASSERT_EQ(&a.chunk, first);
    ASSERT_EQ(&b.chunk, second);
    EXPECT_EQ(&a, first->user());
    EXPECT_EQ(0, first->id());
    EXPECT_EQ(7U, first->stream());
    EXPECT_EQ(6U, first->packets());
    EXPECT_EQ(3 * kHeapBytes, first->bytes());
    EXPECT_EQ((Flags{1, 1, 0, 1}), a.flags);
    EXPECT_EQ(1, second->id());
    EXPECT_EQ((Flags{0, 1, 0, 0}), b.flags);
    EXPECT_EQ(nullptr, next(full));
    EXPECT_TRUE(full.stopped());
    EXPECT_FALSE(free.stopped());
    EXPECT_EQ(8U, stream.stats().packets_placed);
}

TEST(LooseChunks, MayHaveDifferentSizesAndNothingIsWrittenBeyond) {
    ChunkQueue free(4);
    ChunkQueue full(4);
    Owned small(kHeaps, 2);  // presence of two heaps
    Owned tight(1);          // payload of one
    ASSERT_EQ(ChunkQueue::Put::done, free.put(small.chunk));
    ASSERT_EQ(ChunkQueue::Put::done, free.put(tight.chunk));
    InprocQueue queue;
    send(queue, {0, 1, 2, 3, 4, 5, 6, 7});
    queue.stop();
    ChunkRing ring(free, full);
    const ChunkStream stream(waiting(), Reader::queue(queue), callback_of(place_in_turn), ring, kLikeSpead2);
    ASSERT_EQ(&small.chunk, next(full));
    ASSERT_EQ(&tight.chunk, next(full));
    EXPECT_EQ((Flags{1, 1}), small.flags);
    EXPECT_EQ((Flags{1, 0, 0, 0}), tight.flags);
    EXPECT_EQ(5U, stream.stats().callback_nonsense);
    EXPECT_EQ(6U, stream.stats().packets_placed);
    EXPECT_EQ(10U, stream.stats().packets_rejected);
}

TEST(LooseChunks, NotePresenceByPacketFromAnyNumberOn) {
    ChunkQueue free(4);
    ChunkQueue full(4);
    Owned chunk(kHeaps, kHeaps * 2 + 1);
    chunk.flags[0] = 9;  // of the user's own
    ASSERT_EQ(ChunkQueue::Put::done, free.put(chunk.chunk));
    InprocQueue queue;
    send(queue, {0, 2});
    MadeHeap part{.cnt = 9, .length = kHeapBytes, .packet = kPacketBytes};
    part.items = {part.flavour.make_immediate(kItem, 3)};
    const Bytes last = part.datagram(kPacketBytes, kPacketBytes, true);
    queue.push(std::as_bytes(std::span(last)));
    queue.stop();
    PlaceCallback callback = callback_of(place_by_packet);
    callback.chunk.packet_bytes = kPacketBytes;
    ChunkRing ring(free, full);
    const ChunkStream stream(waiting(), Reader::queue(queue), callback, ring, kLikeSpead2);
    ASSERT_EQ(&chunk.chunk, next(full));
    EXPECT_EQ((Flags{9, 1, 1, 0, 0, 1, 1, 0, 1}), chunk.flags);
}

TEST(LooseChunks, StreamsShareQueues) {
    ChunkQueue free(8);
    ChunkQueue full(1);
    std::vector<std::unique_ptr<Owned>> owned;
    for (int i = 0; i < 4; i++)
        ASSERT_EQ(ChunkQueue::Put::done, free.put(owned.emplace_back(std::make_unique<Owned>())->chunk));
    ChunkRing ring(free, full);
    InprocQueue a;
    InprocQueue b;
    ChunkStream one(waiting(), Reader::queue(a), callback_of(place_in_turn), ring, kLikeSpead2);
    const ChunkStream two(waiting(), Reader::queue(b), callback_of(place_in_turn), ring,
                          {.window = 2, .stream = 8});
    send(a, {0, 4});
    a.stop();
    ASSERT_NE(nullptr, next(full));
    ASSERT_NE(nullptr, next(full));
    EXPECT_FALSE(full.stopped());
    EXPECT_FALSE(two.idle());
    send(b, {0, 4});
    b.stop();
    EXPECT_EQ(8U, next(full)->stream());
    // Beyond what users may put in.
    ASSERT_NE(nullptr, next(full));
    EXPECT_EQ(nullptr, next(full));
    EXPECT_TRUE(full.stopped());
    one.stop();
    EXPECT_TRUE(one.idle());
}

TEST(LooseChunks, AGroupHasACallbackForEachStream) {
    ChunkQueue free(8);
    ChunkQueue full(8);
    std::vector<std::unique_ptr<Owned>> owned;
    for (int i = 0; i < 3; i++)
        ASSERT_EQ(ChunkQueue::Put::done, free.put(owned.emplace_back(std::make_unique<Owned>())->chunk));
    ChunkRing ring(free, full);
    std::int64_t bias = 1;
    PlaceCallback biased = callback_of(nullptr);
    biased.place_one_with_user = place_with_bias;
    biased.user = &bias;
    ChunkStreamGroup group(callback_of(place_in_turn), ring, {.window = 2, .max_jump = 0, .back_fill = true});
    InprocQueue a;
    InprocQueue b;
    const ChunkStream one = group.add(waiting(), Reader::queue(a), callback_of(place_in_turn));
    const ChunkStream two = group.add(waiting(), Reader::queue(b), biased);
    group.start();
    send(a, {4});
    a.stop();
    send(b, {1});
    b.stop();
    while (LooseChunk* const chunk = next(full))
        EXPECT_EQ(chunk->id() == 1 ? (Flags{1, 1, 0, 0}) : Flags(kHeaps, 0),
                  static_cast<Owned*>(chunk->user())->flags);
    EXPECT_TRUE(full.stopped());
}

TEST(LooseChunks, AGroupThatIsStoppedEndsTheQueueAlsoBeforeItsBegin) {
    for (const bool begins : {false, true}) {
        ChunkQueue free(8);
        ChunkQueue full(8);
        ChunkRing ring(free, full);
        ChunkStreamGroup group(callback_of(place_in_turn), ring,
                               {.window = 2, .max_jump = 0, .back_fill = true});
        InprocQueue a;
        InprocQueue b;
        const ChunkStream one = group.add(waiting(), Reader::queue(a));
        const ChunkStream two = group.add(waiting(), Reader::queue(b));
        if (begins)
            group.start();
        EXPECT_FALSE(full.stopped());
        group.stop();
        EXPECT_TRUE(full.stopped()) << "its user waits for chunks that none fills";
    }
}

TEST(LooseChunks, HeapsThatComeTooLateCountOnce) {
    ChunkQueue free(8);
    ChunkQueue full(8);
    std::vector<std::unique_ptr<Owned>> owned;
    for (int i = 0; i < 8; i++)
        ASSERT_EQ(ChunkQueue::Put::done, free.put(owned.emplace_back(std::make_unique<Owned>())->chunk));
    ChunkRing ring(free, full);
    InprocQueue queue;
    MadeHeap begun{.cnt = 99, .length = kHeapBytes, .packet = kPacketBytes};
    begun.items = {begun.flavour.make_immediate(kItem, 1)};
    const std::vector<Bytes> parts = begun.datagrams();
    queue.push(std::as_bytes(std::span(parts[0])));
    send(queue, {20, 0});
    queue.push(std::as_bytes(std::span(parts[1])));
    queue.stop();
    const ChunkStream stream(waiting(), Reader::queue(queue), callback_of(place_in_turn), ring, kLikeSpead2);
    while (next(full) != nullptr) {
    }
    EXPECT_EQ(3U, stream.stats().packets_late);
    EXPECT_EQ(2U, stream.stats().heaps_late);
}

TEST(LooseChunks, AQueueIsBoundedForUsersAndEnds) {
    ChunkQueue queue(2);
    Owned a;
    Owned b;
    Owned c;
    EXPECT_EQ(ChunkQueue::Put::done, queue.put(a.chunk));
    EXPECT_EQ(ChunkQueue::Put::done, queue.put(b.chunk));
    EXPECT_EQ(ChunkQueue::Put::full, queue.put(c.chunk));
    EXPECT_TRUE(c.chunk.is_mine());
    EXPECT_EQ(2U, queue.size());
    pollfd space{queue.space_fd(), POLLIN, 0};
    EXPECT_EQ(0, poll(&space, 1, 0));
    EXPECT_EQ(&a.chunk, queue.take());
    EXPECT_EQ(1, poll(&space, 1, 0));
    EXPECT_TRUE(queue.stop());
    EXPECT_FALSE(queue.stop());
    EXPECT_EQ(ChunkQueue::Put::stopped, queue.put(c.chunk));
    EXPECT_EQ(&b.chunk, queue.take());
    EXPECT_EQ(nullptr, queue.take());
    pollfd end{queue.data_fd(), POLLIN, 0};
    EXPECT_EQ(1, poll(&end, 1, 0));
    queue.add_producer();
    EXPECT_FALSE(queue.remove_producer());
}

TEST(LooseChunks, GoIntoOneQueueOfThoseThatWantThemAtOnce) {
    for (int round = 0; round < 300; round++) {
        ChunkQueue queue(4);
        Owned a;
        std::atomic<int> ready{0};
        std::atomic<int> done{0};
        const auto put = [&] {
            ready++;
            while (ready < 2)
                std::this_thread::yield();
            try {
                done += queue.put(a.chunk) == ChunkQueue::Put::done;
            } catch (const UsageError&) {
                EXPECT_FALSE(a.chunk.is_mine());
            }
        };
        std::thread other(put);
        put();
        other.join();
        ASSERT_EQ(done, 1);
        ASSERT_EQ(queue.size(), 1U);
        EXPECT_EQ(queue.take(), &a.chunk);
        queue.stop();
        EXPECT_EQ(queue.put(a.chunk), ChunkQueue::Put::stopped);
        EXPECT_TRUE(a.chunk.is_mine()) << "what was not put in is the user's";
    }
}

TEST(LooseChunks, RefuseWhatDoesNotFit) {
    ChunkQueue queue(2);
    LooseChunk bare;
    refuses([&] { queue.put(bare); }, "it has no `data`");
    Owned a;
    queue.put(a.chunk);
    refuses([&] { queue.put(a.chunk); }, "a queue or a stream has it already");
    refuses([&] { a.chunk.set_memory({}, {}); }, "a queue or a stream has it");
    refuses([] { ChunkQueue(0); }, "room for 0 chunks");
    ChunkRing loose(queue, queue);
    refuses([&] { loose.try_get(); }, "go through queues");
    refuses([&] { loose.add(Placement::parse("heap 8; time: item 0x1600 [4]"), 2); }, "go through queues");
    InprocQueue packets;
    const Placement declared = Placement::parse("heap 8; time: item 0x1600 [4]");
    refuses([&] { ChunkStream(waiting(), Reader::queue(packets), declared, loose); },
            "give a place callback with ChunkSizes::by_chunk");
    ChunkRing fixed(3);
    fixed.add(declared, 3);
    refuses([&] { ChunkStream(waiting(), Reader::queue(packets), callback_of(place_in_turn), fixed); },
            "ChunkSizes::by_chunk is for chunks that come from queues");
}

}  // namespace
}  // namespace spead::test::loose
