// SPDX-License-Identifier: BSD-3-Clause
#include "recv/lent_buffers.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests heaps that refer to real mbufs instead of copies: their bytes, their bound, and the mbufs' way back.
namespace spead::recv::test {
namespace {

constexpr std::uint32_t kPacket = 8000;

MadeHeap large_heap(std::uint64_t cnt) {
    MadeHeap h{.cnt = cnt};
    h.length = 5 * kPacket + 123;
    h.packet = kPacket;
    return h;
}

/// Makes the usual rig with a stream that lends, on a port with buffers of its own.
struct Lending : OneStream {
    explicit Lending(std::uint32_t most, const LaneConfig& config = lane_config("s0", one_group()))
        : OneStream(config) {
        sources[0]->queue.pool = pool.get();
        lane().lend({std::make_shared<port::BufferLoans>(most), most}, most);
    }
    const heap::LentPackets& lent() { return lane().lent->packets(); }
};

/// Returns whether all segments are the sender's bytes, and together the received bytes.
testing::AssertionResult segments_are_right(const heap::HeapHandle& h, const MadeHeap& made) {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
    for (const heap::Segment& s : h.segments()) {
        if (s.offset < at)
            return testing::AssertionFailure() << "segments overlap at " << s.offset;
        at = s.offset + s.bytes.size();
        bytes += s.bytes.size();
        for (std::size_t i = 0; i < s.bytes.size(); i++)
            if (std::to_integer<std::uint8_t>(s.bytes[i]) != made.byte(s.offset + i))
                return testing::AssertionFailure() << "byte " << s.offset + i << " of heap " << h.cnt();
    }
    if (bytes != h.received())
        return testing::AssertionFailure() << bytes << " bytes, and " << h.received() << " arrived";
    return testing::AssertionSuccess();
}

/// Returns whether a segment lies in the arena, and not in an mbuf.
bool any_is_copied(const Rig& rig, const heap::HeapHandle& h) {
    const rte_mempool* const pool = rig.pool.get();
    const auto in_pool = [pool](const std::byte* p) {
        bool found = false;
        const rte_mempool_memhdr* m = nullptr;
        STAILQ_FOREACH(m, &pool->mem_list, next) {
            const auto* const begin = static_cast<const std::byte*>(m->addr);
            found |= p >= begin && p < begin + m->len;
        }
        return found;
    };
    const std::vector<heap::Segment> all = h.segments();
    return std::any_of(all.begin(), all.end(), [&](const auto& s) { return !in_pool(s.bytes.data()); });
}

TEST(LentBuffers, ShowTheSendersBytesWhereThePortPutThem) {
    Lending rig(1000);
    for (std::uint64_t cnt = 1; cnt <= 20; cnt++) {
        rig.give(large_heap(cnt).frames());
        const heap::HeapHandle h = rig.lane().queue.try_pop();
        ASSERT_TRUE(h);
        EXPECT_TRUE(h.complete());
        EXPECT_EQ(h.segments().size(), 6U);
        EXPECT_FALSE(any_is_copied(rig, h));
        EXPECT_TRUE(segments_are_right(h, large_heap(cnt)));
        rig.agent.housekeep(rig.now);
        EXPECT_EQ(rig.lane().counters.lent_now, 6U);
        EXPECT_EQ(rig.pool.in_use(), 6U);
        // The copy that code without segments gets.
        EXPECT_TRUE(is_whole(taken(h), large_heap(cnt)));
    }
    EXPECT_EQ(rig.lane().counters.lend_full, 0U);
    rig.agent.housekeep(rig.now);
    EXPECT_EQ(rig.lane().counters.lent_now, 0U);
    EXPECT_TRUE(rig.pool.full());
}

TEST(LentBuffers, AreRightWhateverTheNetworkDoes) {
    for (std::uint32_t seed = 0; seed < 20; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        LaneConfig config = lane_config("s0", one_group());
        config.window.max_live = 8;
        Lending rig(seed % 4 == 0 ? 1000 : seed * 3, config);
        std::vector<Bytes> frames;
        for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
            for (Bytes& f : large_heap(cnt).frames())
                frames.push_back(std::move(f));
        for (std::size_t i = 0; i + 12 < frames.size(); i++)
            std::swap(frames[i], frames[i + random() % 12]);
        std::vector<heap::HeapHandle> held;
        std::size_t heaps = 0;
        const auto look = [&] {
            while (heap::HeapHandle h = rig.lane().queue.try_pop()) {
                heaps++;
                EXPECT_TRUE(segments_are_right(h, large_heap(h.cnt())));
                held.push_back(std::move(h));
            }
            std::shuffle(held.begin(), held.end(), random);
            if (held.size() > 6)
                held.resize(6);
        };
        for (const Bytes& f : frames) {
            if (random() % 20 == 0)
                continue;
            for (std::uint32_t n = random() % 10 == 0 ? 2 : 1; n != 0; n--)
                rig.queue().add(random() % 8 == 0 ? rig.queue().chain(f, {100, 3000}) : rig.pool.make(f));
            if (random() % 16 == 0) {
                rig.poll_all();
                look();
            }
        }
        rig.poll_all();
        rig.agent.flush();
        look();
        EXPECT_EQ(heaps, 40U);
        EXPECT_EQ(rig.others(PacketOutcome::placed),
                  rig.count(PacketOutcome::duplicate) + rig.count(PacketOutcome::late));
        for (const heap::HeapHandle& h : held) {
            EXPECT_TRUE(segments_are_right(h, large_heap(h.cnt())));
            const Taken t = taken(h);
            EXPECT_TRUE(!t.complete || is_whole(t, large_heap(h.cnt())));
        }
        held.clear();
        rig.agent.housekeep(rig.now);
        EXPECT_TRUE(rig.pool.full());
    }
}

TEST(LentBuffers, OfAHolderWhoGivesNothingBackCostCopiesAndNoPacket) {
    constexpr std::uint32_t kMost = 50;
    Lending rig(kMost);
    std::vector<heap::HeapHandle> held;
    constexpr std::uint64_t kHeaps = 3000;
    unsigned most_in_use = 0;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        for (const Bytes& f : large_heap(cnt).frames())
            rig.queue().add(f);
        rig.poll_all();
        most_in_use = std::max(most_in_use, rig.pool.in_use());
        heap::HeapHandle h = rig.lane().queue.try_pop();
        ASSERT_TRUE(h);
        ASSERT_TRUE(h.complete());
        if (cnt % 50 == 0) {
            ASSERT_TRUE(is_whole(taken(h), large_heap(cnt)));
        }
        if (held.size() < 12)
            held.push_back(std::move(h));
    }
    EXPECT_EQ(rig.count(PacketOutcome::placed), 6 * kHeaps);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(rig.lane().counters.lend_full, kHeaps - kMost / 6) << "the ninth had a copied part";
    EXPECT_EQ(most_in_use, kMost) << "of the pool's: what it has more for them";
    for (std::uint64_t i = 0; i < held.size(); i++) {
        EXPECT_TRUE(segments_are_right(held[i], large_heap(i + 1)));
        EXPECT_EQ(any_is_copied(rig, held[i]), i >= kMost / 6);
    }
    EXPECT_EQ(held[10].segments().size(), 1U);
    // Speed comes back with the buffers.
    held.clear();
    rig.give(large_heap(kHeaps + 1).frames());
    EXPECT_EQ(rig.lent().out(), 6U);
    EXPECT_EQ(rig.lane().counters.lend_full, kHeaps - kMost / 6);
}

TEST(LentBuffers, GrowWhenOthersGiveTheirsBack) {
    OneStream rig;
    rig.sources[0]->queue.pool = rig.pool.get();
    auto loans = std::make_shared<port::BufferLoans>(20);
    std::optional<port::BufferShare> other(std::in_place, loans, 14);
    rig.lane().lend({loans, 20}, 20);
    LentBuffers& lent = *rig.lane().lent;
    EXPECT_EQ(lent.share(), 6U);
    EXPECT_FALSE(lent.grow());
    auto lent_of_two_heaps = [&rig, &lent, cnt = std::uint64_t{1}]() mutable {
        for (int i = 0; i < 2; i++)
            rig.give(large_heap(cnt++).frames());
        const std::uint32_t out = lent.packets().out();
        for (const Taken& t : rig.take())
            EXPECT_TRUE(is_whole(t, large_heap(t.cnt)));
        rig.agent.housekeep(rig.now);
        return out;
    };
    EXPECT_EQ(lent_of_two_heaps(), 6U);
    EXPECT_EQ(rig.lane().counters.lend_full, 1U);
    other.reset();
    EXPECT_TRUE(lent.grow());
    lent.allow(lent.share());
    EXPECT_EQ(lent_of_two_heaps(), 12U);
    EXPECT_EQ(rig.lane().counters.lend_full, 1U);
}

TEST(LentBuffers, AreOnlyTheOnesOfThePort) {
    Lending rig(100);
    // Others' buffers, and those that a device attaches to its mbufs.
    rig.sources[0]->queue.pool = nullptr;
    rig.give(large_heap(1).frames());
    rig.sources[0]->queue.pool = rig.pool.get();
    const MadeHeap h = large_heap(2);
    std::vector<Bytes> frames = h.frames();
    for (const Bytes& f : frames) {
        rte_mbuf* const whole = rig.pool.make(f);
        rte_mbuf* const clone = rte_pktmbuf_clone(whole, rig.pool.get());
        ASSERT_NE(clone, nullptr);
        rte_pktmbuf_free(whole);
        rig.queue().add(clone);
    }
    rig.poll_all();
    EXPECT_EQ(rig.lent().out(), 0U);
    EXPECT_EQ(rig.lane().counters.lend_full, 0U);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 2U);
    EXPECT_TRUE(is_whole(heaps[0], large_heap(1)));
    EXPECT_TRUE(is_whole(heaps[1], h));
    EXPECT_TRUE(rig.pool.full());
}

TEST(LentBuffers, ComeBackFromSeveralThreadsAtOnce) {
    Lending rig(400);
    std::mutex mutex;
    std::vector<heap::HeapHandle> handed;
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; t++)
        threads.emplace_back([&, t] {
            std::vector<heap::HeapHandle> mine;
            while (!done || !mine.empty()) {
                {
                    const std::lock_guard lock(mutex);
                    while (!handed.empty() && mine.size() < 8) {
                        mine.push_back(std::move(handed.back()));
                        handed.pop_back();
                    }
                }
                for (const heap::HeapHandle& h : mine) {
                    const bool whole = t == 0 ? is_whole(taken(h), large_heap(h.cnt()))
                                              : segments_are_right(h, large_heap(h.cnt()));
                    right += whole && h.complete() ? 1 : 0;
                }
                if (mine.empty())
                    std::this_thread::yield();
                mine.clear();
            }
        });
    constexpr std::uint64_t kHeaps = 2000;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        rig.give(large_heap(cnt).frames());
        heap::HeapHandle h = rig.lane().queue.try_pop();
        ASSERT_TRUE(h);
        for (bool room = false; !room;) {
            const std::lock_guard lock(mutex);
            room = handed.size() < 60;
            if (room)
                handed.push_back(std::move(h));
        }
    }
    for (bool empty = false; !empty;) {
        const std::lock_guard lock(mutex);
        empty = handed.empty();
    }
    done = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(right, kHeaps);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    rig.agent.housekeep(rig.now);
    EXPECT_TRUE(rig.pool.full());
}

TEST(LentBuffers, OfALaneThatIsGoneComeBackWithItsLastHeap) {
    const Pool pool(1023, 9600);
    auto loans = std::make_shared<port::BufferLoans>(100);
    memory::Arena arena(8U << 20, 512U << 10);
    FakeRx queue(pool);
    Source source;
    source.queue = queue.queue();
    source.queue.pool = pool.get();
    const LaneConfig config = lane_config("s0", one_group());
    auto lane = std::make_shared<SpeadLane>(config, heap::PoolPlacer(arena, arena.capacity()));
    lane->lend({loans, 100}, 100);
    EXPECT_EQ(loans->shared_out(), 100U);
    {
        RxAgent agent;
        const std::uint16_t number = agent.add_lane(*lane);
        source.classifier.add(config.endpoints[0], {number, 0});
        source.lanes.push_back(number);
        agent.add_source(source);
        for (const std::uint64_t cnt : {1U, 2U, 3U})
            queue.add(large_heap(cnt).frames());
        while (agent.poll(1)) {
        }
    }
    std::vector<heap::HeapHandle> held;
    while (heap::HeapHandle h = lane->queue.try_pop())
        held.push_back(std::move(h));
    ASSERT_EQ(held.size(), 3U);
    lane->lent->settle();
    EXPECT_EQ(loans->shared_out(), 18U) << "other lanes may lend the rest";
    EXPECT_EQ(pool.in_use(), 18U);
    std::thread([&] {
        for (const heap::HeapHandle& h : held)
            EXPECT_TRUE(segments_are_right(h, large_heap(h.cnt())));
        held.clear();
        lane.reset();
    }).join();
    EXPECT_EQ(loans->shared_out(), 0U);
    EXPECT_TRUE(pool.full());
}

}  // namespace
}  // namespace spead::recv::test
