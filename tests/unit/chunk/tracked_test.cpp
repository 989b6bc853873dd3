// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/tracked.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <tuple>

#include "tests/unit/chunk/numbered_rig.hpp"

/// Tests heaps that are placed into chunks by the packet that tells where they go.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

bool holds_heap(const Chunk& chunk, std::uint64_t n) {
    for (std::uint64_t i = 0; i < kNumberedHeap; i++)
        if (chunk.data[n % kNumberedHeaps * kNumberedHeap + i] != std::byte{heap::test::pattern(n, i)})
            return false;
    return true;
}

TEST(Tracked, PlacesAHeapOfWhichOnlyTheFirstPacketTells) {
    NumberedRig rig;
    EXPECT_EQ(rig.give(telling(5)), placed);
    EXPECT_EQ(rig.give(silent(5)), placed);
    EXPECT_EQ(rig.give(silent(5)), duplicate);
    rig.end();
    Chunk* const chunk = rig.chunks.ring.take();
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(chunk->id, 1);
    EXPECT_TRUE(holds_heap(*chunk, 5));
    EXPECT_EQ(chunk->heaps_present, 1U);
    EXPECT_EQ(chunk->present[1], 1);
    EXPECT_EQ(chunk->packets, 2U);
    EXPECT_EQ(chunk->bytes, kNumberedHeap);
    EXPECT_EQ(chunk->bytes, rig.counters.bytes);
    EXPECT_EQ(chunk->first_arrival, 1U);
    EXPECT_EQ(chunk->extra[2], std::byte{5});
    EXPECT_EQ(rig.map.asked, 1U) << "at the heap's start only";
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
}

TEST(Tracked, GivesEachRefusalItsOutcomeAndTheLaterPacketsOfTheHeapTheSame) {
    NumberedRig rig({.max_jump = 10});
    EXPECT_EQ(rig.give(telling(400)), placed);
    Packet longer(1);
    longer.of(32).at(0, 8).items({immediate(Numbered::kItem, 400)});
    EXPECT_EQ(rig.give(longer), bad_length);
    EXPECT_EQ(rig.give(silent(1)), bad_length);
    EXPECT_EQ(rig.give(telling(999'999, 0, 8, 2)), out_of_range);
    EXPECT_EQ(rig.give(silent(2)), out_of_range);
    EXPECT_EQ(rig.give(telling(380, 0, 8, 3)), late);
    EXPECT_EQ(rig.give(silent(3)), late);
    EXPECT_EQ(rig.give(telling(4000, 0, 8, 4)), future);
    EXPECT_EQ(rig.give(silent(4)), future);
    EXPECT_EQ(rig.counters.heaps_started, 1U);
    EXPECT_EQ(rig.counters[placed], 1U);
    rig.end();
}

TEST(Tracked, BeginsAHeapWithThePacketThatTellsWhateverCameBefore) {
    NumberedRig rig;
    EXPECT_EQ(rig.give(silent(6)), no_item);
    EXPECT_EQ(rig.give(telling(6)), placed);
    EXPECT_EQ(rig.give(silent(6)), placed) << "a copy of the lost packet completes it";
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
    rig.end();
}

TEST(Tracked, TakesThePlacesLengthForAHeapWithoutOne) {
    NumberedRig rig;
    Packet p(1);
    p.at(0, 8).items({immediate(Numbered::kItem, 1)});
    EXPECT_EQ(rig.give(p), placed);
    Packet past(1);
    past.at(12, 8);
    EXPECT_EQ(rig.give(past), inconsistent);
    EXPECT_EQ(rig.give(silent(1)), placed);
    Packet outside(2);
    outside.at(12, 8).items({immediate(Numbered::kItem, 2)});
    EXPECT_EQ(rig.give(outside), bad_length);
    rig.end();
}

TEST(Tracked, CountsControlThatTellsNothingAsControl) {
    NumberedRig rig;
    EXPECT_EQ(rig.give(Packet(1).of(0).at(0, 0).stop()), control);
    EXPECT_EQ(rig.give(Packet(2).of(100).at(50, 10).control()), control);
    EXPECT_EQ(rig.counters.stop_items, 1U);
    EXPECT_EQ(rig.map.asked, 0U);
    rig.end();
}

TEST(Tracked, WithoutAFreeChunkRefusesOrWaits) {
    NumberedRig rig({.chunks = 1, .window = 2});
    EXPECT_EQ(rig.give(telling(0)), placed);
    EXPECT_EQ(rig.give(telling(4), true), count_) << "a source that can wait does";
    EXPECT_EQ(rig.give(telling(4)), no_chunk);
    EXPECT_EQ(rig.give(silent(4)), no_chunk);
    EXPECT_EQ(rig.give(silent(0)), placed) << "the other chunk goes on";
    rig.end();
}

/// Reaches the turn of a window, which a member has for a moment only. An explicit instantiation may name
/// private members.
template <auto Try, auto End>
struct TurnOf {
    friend bool try_turn(ChunkWindow& window) { return (window.*Try)(); }
    friend void end_turn(ChunkWindow& window) { (window.*End)(); }
};
bool try_turn(ChunkWindow& window);
void end_turn(ChunkWindow& window);
template struct TurnOf<&ChunkWindow::try_turn, &ChunkWindow::end_turn>;

// A kept answer is that of the heap that comes next with the key; a heap that was refused never comes.
TEST(Tracked, KeepsTheAnswerOnlyForAHeapThatComesAgain) {
    NumberedRig rig;
    ASSERT_TRUE(try_turn(rig.window));
    EXPECT_EQ(rig.offer(telling(0), false, false), Tracked::Verdict::again) << "another lcore has the turn";
    EXPECT_EQ(rig.map.kept, 1U);
    EXPECT_EQ(rig.offer(telling(0), true, false), Tracked::Verdict::counted) << "for the last time";
    EXPECT_EQ(rig.counters[no_chunk], 1U);
    EXPECT_EQ(rig.map.kept, 1U) << "that answer was final";
    EXPECT_EQ(rig.offer(telling(1), false, true), Tracked::Verdict::waits);
    EXPECT_EQ(rig.map.kept, 2U);
    end_turn(rig.window);
    rig.end();
}

TEST(Tracked, LosesOnePacketAndNoHeapWhileAnotherLcoreHasTheTurn) {
    NumberedRig rig;
    ASSERT_TRUE(try_turn(rig.window));
    EXPECT_EQ(rig.offer(telling(0), false, false), Tracked::Verdict::again);
    EXPECT_EQ(rig.offer(telling(0), true, false), Tracked::Verdict::counted);
    end_turn(rig.window);
    EXPECT_EQ(rig.counters[no_chunk], 1U);
    EXPECT_EQ(rig.give(silent(0)), no_chunk) << "it lost its place for want of the turn, not of an item";
    EXPECT_EQ(rig.give(silent(1)), no_item);
    EXPECT_EQ(rig.give(telling(0, 8)), placed) << "a later packet may tell as well";
    EXPECT_EQ(rig.give(silent(0, 0)), placed);
    rig.end();
}

TEST(Tracked, HeapsFromBeforeAJumpSayNothingAboutTheNewChunks) {
    RingOfChunks chunks(6);
    ChunkWindowConfig config = TrackedRig::config({.window = 1, .max_jump = 16});
    config.eviction = Eviction::lossless;
    ChunkWindow window(config, chunks.ring);
    Member other(window);
    Member member(window);
    stats::StreamCounters counters;
    Numbered map;
    Tracked tracked(tracked_window(), map, kNumberedHeap, member, counters);
    EXPECT_EQ(tracked.accept(telling(4000).view(), 0, false, false).verdict, Tracked::Verdict::copy);
    tracked.boundary();
    const auto open = [&](std::int64_t id, bool can_wait) {
        Member::Missing missing = Member::Missing::none;
        other.open({.id = id, .anew = id, .source = 1, .can_wait = can_wait, .now = 1}, missing);
        return missing;
    };
    EXPECT_EQ(open(1000, false), Member::Missing::none);
    other.boundary();
    for (std::uint32_t i = 1; i < Resync::kPackets; i++)
        ASSERT_EQ(open(3, false), Member::Missing::late);
    ASSERT_EQ(open(3, false), Member::Missing::none);
    tracked.boundary();
    tracked.boundary();
    EXPECT_EQ(counters.heaps_live, 0U) << "given up with chunk 1000";
    EXPECT_EQ(open(4, true), Member::Missing::waits) << "it has not passed chunk 3";
    tracked.flush(1);
    member.leave();
    EXPECT_EQ(open(4, true), Member::Missing::none);
}

TEST(Tracked, RefusesASecondHeapForAPlaceThatIsFull) {
    NumberedRig rig;
    EXPECT_EQ(rig.give(telling(3, 0, 16)), placed);
    EXPECT_EQ(rig.give(telling(3, 0, 16, 77)), duplicate);
    EXPECT_EQ(rig.give(silent(77)), duplicate);
    rig.end();
    EXPECT_EQ(rig.chunks.ring.take()->packets, 1U);
}

TEST(Tracked, GivesUpTheHeapsOfAChunkThatLeaves) {
    for (unsigned way = 0; way < 4; way++) {
        heap::WindowConfig c = tracked_window();
        c.guarded = way % 2 != 0;
        c.history = way < 2 ? 0 : c.history;
        NumberedRig rig({.window = 2}, c);
        EXPECT_EQ(rig.give(telling(0)), placed);
        EXPECT_EQ(rig.give(telling(4)), placed);
        EXPECT_EQ(rig.give(telling(8)), placed) << "chunk 0 leaves";
        EXPECT_EQ(rig.counters.heaps_live, 2U);
        EXPECT_EQ(rig.counters.heaps_ghosts, 0U) << "that is no forgery";
        Chunk* const chunk = rig.chunks.ring.take();
        ASSERT_NE(chunk, nullptr) << "nothing of the batch keeps it";
        EXPECT_EQ(chunk->id, 0);
        EXPECT_EQ(chunk->heaps_present, 0U);
        EXPECT_EQ(chunk->packets, 1U) << "its share was counted before it left";
        const std::vector<std::byte> before(chunk->data.begin(), chunk->data.end());
        EXPECT_EQ(rig.give(silent(0)), late);
        EXPECT_EQ(rig.give(telling(0)), late);
        EXPECT_TRUE(std::equal(before.begin(), before.end(), chunk->data.begin()));
        rig.end();
    }
}

TEST(Tracked, CopiesOfTheBatchInWhichTheChunkLeavesAreMadeBeforeItIsHandedOver) {
    NumberedRig rig({.window = 2});
    const std::vector<Packet> packets{telling(0), telling(4), telling(8), silent(0), silent(4)};
    for (const Packet& p : packets)
        rig.offer(p, false, false);
    EXPECT_EQ(rig.chunks.ring.waiting(), 0U);
    rig.copy();
    rig.tracked->boundary();
    EXPECT_EQ(rig.chunks.ring.waiting(), 1U);
    EXPECT_EQ(rig.counters[late], 1U);
    EXPECT_EQ(rig.counters[placed], 4U);
    Chunk* const chunk = rig.chunks.ring.take();
    EXPECT_EQ(chunk->bytes, 8U);
    rig.end();
}

TEST(Tracked, MarksThePacketsOfIncompleteHeapsWherePresenceIsByPacket) {
    Layout layout = small_layout();
    layout.packets_per_heap = 4;
    Numbered map;
    TrackedRig rig(map, layout, kNumberedHeap, {.part_bytes = 4});
    EXPECT_EQ(rig.give(telling(2, 0, 4)), placed);
    EXPECT_EQ(rig.give(silent(2, 12, 4)), placed);
    EXPECT_EQ(rig.give(telling(1, 0, 16)), placed);
    EXPECT_EQ(rig.give(telling(3, 2, 6)), placed) << "cut otherwise";
    rig.tracked->expire(5);
    rig.end();
    const Chunk* const chunk = rig.chunks.ring.take();
    const std::vector<std::uint8_t> present(chunk->present.begin(), chunk->present.end());
    EXPECT_EQ(present, (std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0}));
    EXPECT_EQ(chunk->heaps_present, 1U);
    EXPECT_EQ(chunk->packets, 4U);
    EXPECT_EQ(chunk->bytes, 30U);
}

TEST(Tracked, KeepsTheHeapsOfOpenChunksWhileTheLcoreSleeps) {
    NumberedRig rig({.window = 2});
    EXPECT_EQ(rig.give(telling(0)), placed);
    EXPECT_EQ(rig.give(telling(4)), placed);
    rig.tracked->offline();
    rig.tracked->expire(5);
    // Another lcore moves the window meanwhile.
    Member other(rig.window);
    Member::Missing missing = Member::Missing::none;
    ASSERT_NE(other.open({2, 2, 1, false, 1}, missing), nullptr);
    other.boundary();
    Chunk* const chunk = rig.chunks.ring.take();
    ASSERT_NE(chunk, nullptr) << "a sleeper keeps none";
    EXPECT_EQ(chunk->packets, 1U);
    EXPECT_EQ(rig.give(silent(0)), late);
    EXPECT_EQ(rig.give(silent(4)), placed);
    EXPECT_EQ(chunk->shares[0].packets, 1U) << "it is the user's";
    EXPECT_EQ(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 1U);
    other.leave();
    rig.end();
}

TEST(Tracked, NeverTouchesPayloadMemory) {
    constexpr std::size_t kPages = std::size_t{1} << 16;
    void* const device = mmap(nullptr, kPages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(device, MAP_FAILED);
    {
        Numbered map;
        ChunkRing ring(2);
        const Layout layout = small_layout();
        std::array<std::array<std::uint8_t, 4>, 2> present{};
        std::array<std::array<std::byte, 8>, 2> extra{};
        for (std::size_t i = 0; i < 2; i++)
            ring.add(layout, {static_cast<std::byte*>(device) + i * 4096, 4096}, present[i], extra[i],
                     MemoryKind::device);
        ChunkWindow window(TrackedRig::config({.window = 2}), ring);
        Member member(window);
        stats::StreamCounters counters;
        window.agree_on_parts(kNumberedHeap, kNumberedHeap);
        Tracked tracked(tracked_window(), map, kNumberedHeap, member, counters);
        for (std::uint64_t n = 0; n < 8; n++) {
            EXPECT_EQ(tracked.accept(telling(n).view(), 0, false, false).verdict, Tracked::Verdict::copy);
            EXPECT_EQ(tracked.accept(silent(n).view(), 0, false, false).verdict, Tracked::Verdict::copy);
            tracked.boundary();
        }
        tracked.flush(1);
        member.leave();
        for (int i = 0; i < 2; i++)
            EXPECT_TRUE(ring.take()->complete());
    }
    munmap(device, kPages);
}

/// Compares chunks with what was sent: random heaps in random order, with loss, doubles and stray counts.
class TrackedModel : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(TrackedModel, AgreesWithWhatWasSent) {
    std::mt19937_64 random(GetParam());
    heap::WindowConfig heaps = tracked_window();
    heaps.max_live = 1 + static_cast<std::uint32_t>(random() % 12);
    heaps.guarded = random() % 2 == 0;
    const bool by_packet = random() % 2 == 0;
    Layout layout = small_layout();
    layout.packets_per_heap = by_packet ? 4 : 1;
    Numbered map;
    TrackedRig rig(map, layout, kNumberedHeap,
                   {.chunks = 5,
                    .window = 1 + static_cast<std::uint32_t>(random() % 4),
                    .part_bytes = by_packet ? 4U : 0U},
                   heaps);
    std::vector<Packet> packets;
    for (std::uint64_t n = 0; n < 400; n++) {
        if (random() % 4 == 0) {
            for (std::uint64_t copies = 1 + random() % 10 / 9; copies != 0; copies--)
                packets.push_back(
                    telling(n, 0, kNumberedHeap).time(n + 1).from(static_cast<std::uint32_t>(n % 3)));
            continue;
        }
        for (std::uint64_t at = 0; at < kNumberedHeap; at += 4) {
            const bool tells = at == 0 || random() % 4 == 0;
            Packet p = tells ? telling(n, at, 4) : silent(n, at, 4);
            p.time(n + 1).from(static_cast<std::uint32_t>(n % 3));
            if (random() % 50 != 0)
                packets.push_back(p);
            if (random() % 20 == 0)
                packets.push_back(p);
            if (random() % 100 == 0)
                packets.push_back(Packet(random()).of(random() % 64).at(0, 0).time(n + 1));
        }
    }
    for (std::size_t i = 0; i + 20 < packets.size(); i++)
        std::swap(packets[i], packets[i + random() % 20]);
    std::uint64_t bytes = 0;
    std::uint64_t placed_packets = 0;
    std::int64_t last = -1;
    const auto look = [&] {
        while (Chunk* const chunk = rig.chunks.ring.take()) {
            EXPECT_GT(chunk->id, last);
            last = chunk->id;
            bytes += chunk->bytes;
            placed_packets += chunk->packets;
            EXPECT_EQ(chunk->doubled, 0U);
            for (std::uint64_t h = 0; h < kNumberedHeaps; h++) {
                const std::uint64_t n = static_cast<std::uint64_t>(chunk->id) * kNumberedHeaps + h;
                for (std::uint64_t i = 0; i < kNumberedHeap; i++) {
                    const std::uint8_t here = by_packet ? chunk->present[h * 4 + i / 4] : chunk->present[h];
                    if (here != 0) {
                        ASSERT_EQ(chunk->data[h * kNumberedHeap + i], std::byte{heap::test::pattern(n, i)});
                    }
                }
            }
            EXPECT_TRUE(rig.chunks.ring.give_back(*chunk));
        }
    };
    for (std::size_t at = 0; at < packets.size();) {
        const std::size_t n = std::min<std::size_t>(1 + random() % 64, packets.size() - at);
        rig.batch({packets.begin() + static_cast<std::ptrdiff_t>(at),
                   packets.begin() + static_cast<std::ptrdiff_t>(at + n)});
        at += n;
        if (random() % 8 == 0) {
            rig.tracked->offline();
        }
        if (random() % 8 == 0)
            rig.tracked->expire(packets[at - 1].view().arrival);
        look();
    }
    rig.end();
    look();
    EXPECT_EQ(bytes, rig.counters.bytes) << "placed bytes are bytes in chunks";
    EXPECT_EQ(placed_packets, rig.counters[placed]);
    EXPECT_GT(rig.counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)], 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TrackedModel, ::testing::Range<std::uint64_t>(0, 60));

/// Is one of the lcores that fill the same chunks: every third heap, its packets in two batches.
struct TrackedLcore {
    TrackedLcore(ChunkWindow& window, std::uint64_t first, std::uint64_t heaps)
        : member(window),
          tracked(tracked_window(), map, kNumberedHeap, member, counters),
          first_(first),
          heaps_(heaps) {}

    void run() {
        std::mt19937_64 random(first_);
        for (std::uint64_t n = first_; n < heaps_; n += kLcores * 2) {
            batch({telling(n), telling(n + kLcores)});
            if (random() % 16 == 0)
                tracked.offline();
            if (random() % 32 == 0)
                std::this_thread::yield();
            batch({silent(n + kLcores), silent(n)});
            if (random() % 16 == 0)
                tracked.expire(n);
        }
        tracked.flush(1);
        member.leave();
    }
    void batch(const std::vector<Packet>& packets) {
        std::vector<const Packet*> again;
        for (const Packet& p : packets)
            if (!offer(p, false))
                again.push_back(&p);
        copy();
        for (const Packet* const p : again)
            offer(*p, true);
        copy();
    }
    bool offer(const Packet& p, bool last_try) {
        const Tracked::Accepted a = tracked.accept(p.view(), 0, last_try, false);
        if (a.verdict == Tracked::Verdict::copy)
            copies.emplace_back(a.base, a.offset, &p);
        return a.verdict != Tracked::Verdict::again;
    }
    void copy() {
        for (const auto& [base, offset, p] : copies)
            std::memcpy(*base + offset + p->view().offset, p->payload().data(), p->payload().size());
        copies.clear();
        tracked.boundary();
    }

    static constexpr std::uint64_t kLcores = 3;
    Numbered map;
    Member member;
    stats::StreamCounters counters;
    Tracked tracked;
    std::vector<std::tuple<std::byte* const*, std::uint64_t, const Packet*>> copies;

  private:
    std::uint64_t first_;
    std::uint64_t heaps_;
};

TEST(TrackedLcores, FillTheSameChunksAndCountEachByteOnce) {
    constexpr std::uint64_t kSent = 6000;
    RingOfChunks chunks(12);
    ChunkWindow window(TrackedRig::config({.window = 6}), chunks.ring);
    window.agree_on_parts(kNumberedHeap, kNumberedHeap);
    std::vector<std::unique_ptr<TrackedLcore>> lcores;
    for (std::uint64_t i = 0; i < TrackedLcore::kLcores; i++)
        lcores.push_back(std::make_unique<TrackedLcore>(window, i, kSent));
    std::uint64_t bytes = 0;
    std::uint64_t packets = 0;
    std::uint64_t present = 0;
    std::int64_t last = -1;
    const auto take_all = [&] {
        while (Chunk* const chunk = chunks.ring.take()) {
            EXPECT_GT(chunk->id, last);
            last = chunk->id;
            bytes += chunk->bytes;
            packets += chunk->packets;
            present += chunk->heaps_present;
            for (std::uint64_t h = 0; h < kNumberedHeaps; h++)
                EXPECT_TRUE(chunk->present[h] == 0 ||
                            holds_heap(*chunk, static_cast<std::uint64_t>(chunk->id) * kNumberedHeaps + h));
            EXPECT_TRUE(chunks.ring.give_back(*chunk));
        }
    };
    std::atomic<std::uint64_t> running{TrackedLcore::kLcores};
    std::vector<std::thread> threads;
    for (const auto& lcore : lcores)
        threads.emplace_back([&running, &lcore] {
            lcore->run();
            running.fetch_sub(1);
        });
    while (running.load() != 0) {
        take_all();
        std::this_thread::yield();
    }
    for (std::thread& t : threads)
        t.join();
    take_all();
    EXPECT_EQ(window.open(), 0U);
    std::uint64_t sent = 0;
    std::uint64_t counted_bytes = 0;
    std::uint64_t placed_packets = 0;
    std::uint64_t complete = 0;
    for (const auto& lcore : lcores) {
        for (const std::uint64_t n : lcore->counters.packets)
            sent += n;
        counted_bytes += lcore->counters.bytes;
        placed_packets += lcore->counters[placed];
        complete += lcore->counters.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)];
    }
    EXPECT_EQ(sent, 2 * kSent);
    EXPECT_EQ(bytes, counted_bytes);
    EXPECT_EQ(packets, placed_packets);
    EXPECT_EQ(present, complete);
    EXPECT_GT(complete, 0U);
}

}  // namespace
}  // namespace spead::chunk::test
