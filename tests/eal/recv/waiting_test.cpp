// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests packets that wait for room in a window whose stream may lose nothing, on real mbufs. Each is counted
/// once, early or late, and the packets that wait with it stay in order.
namespace spead::recv::test {
namespace {

constexpr std::size_t kKiB = 1024;

LaneConfig lossless(const std::string& name = "s0", std::uint32_t group = Way{}.to) {
    LaneConfig c = lane_config(name, one_group(group));
    c.window.on_full = heap::FullPolicy::block;
    c.window.max_heap_bytes = 64 * kKiB;
    return c;
}

/// Takes heaps one by one, checks them, and keeps the last few.
struct Consumer {
    explicit Consumer(SpeadLane& of, std::size_t most_held) : lane(of), most(most_held) {}

    void act(const std::vector<MadeHeap>& made) {
        if (heap::HeapHandle h = lane.queue.try_pop()) {
            ASSERT_LT(got, made.size());
            ASSERT_TRUE(is_whole(taken(h), made[got++]));
            held.push_back(std::move(h));
            if (held.size() > most)
                held.erase(held.begin());
        } else if (!held.empty()) {
            held.erase(held.begin());
        }
    }

    SpeadLane& lane;
    std::size_t most;
    std::size_t got = 0;
    std::vector<heap::HeapHandle> held;
};

std::vector<MadeHeap> heaps_of(const std::vector<std::size_t>& sizes, std::size_t n) {
    std::vector<MadeHeap> made;
    for (std::size_t i = 0; i < n; i++)
        made.push_back({.cnt = i + 1, .length = sizes[i % sizes.size()], .packet = 4000});
    return made;
}

TEST(WaitingPackets, OfHeapsThatSuddenlyAreLargerAreNotLost) {
    // Room for five of the largest heaps. Bursts of small heaps leave no doubt that there is room for more of
    // them; the large ones among them find none.
    for (const std::vector<std::size_t>& sizes :
         {std::vector<std::size_t>{64, 64, 64, 60'000}, {200, 60'000, 100, 30'000, 64'000}, {64'000}}) {
        Rig rig(320 * kKiB, 64 * kKiB);
        rig.add_source();
        rig.add_lane(0, lossless());
        const std::vector<MadeHeap> made = heaps_of(sizes, 300);
        Consumer consumer(rig.lane(), 1);
        bool waited = false;
        std::size_t next = 0;
        for (int i = 0; i < 200'000 && consumer.got < made.size(); i++) {
            while (next < made.size() && rig.queue().waiting() < 256)
                rig.queue().add(made[next++].frames());
            rig.poll();
            waited |= rig.sources[0]->waiting.count != 0;
            EXPECT_TRUE(rig.sources[0]->waiting.count == 0 || rig.agent.blocked());
            if (i % 3 == 0) {
                ASSERT_NO_FATAL_FAILURE(consumer.act(made));
            }
        }
        EXPECT_EQ(consumer.got, made.size());
        EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
        EXPECT_TRUE(waited || sizes.size() == 1) << "the test is worth nothing if no packet had to wait";
    }
}

TEST(WaitingPackets, InSegmentsAreTakenByteForByte) {
    Rig rig(320 * kKiB, 64 * kKiB);
    rig.add_source();
    rig.add_lane(0, lossless());
    std::vector<MadeHeap> made;
    for (std::uint64_t cnt = 1; cnt <= 60; cnt++)
        made.push_back({.cnt = cnt, .length = cnt % 4 == 0 ? 60'000U : 300U, .packet = 8000});
    std::size_t n = 0;
    for (const MadeHeap& h : made)
        for (const Bytes& frame : h.frames())
            rig.queue().add(rig.queue().chain(frame, {40 + n % 30, 20 + n++ % 90, 100}));
    Consumer consumer(rig.lane(), 1);
    bool waited = false;
    for (int i = 0; i < 20'000 && consumer.got < made.size(); i++) {
        rig.poll();
        waited |= rig.sources[0]->waiting.header.gathered != 0 && rig.sources[0]->waiting.count != 0;
        if (i % 3 == 0) {
            ASSERT_NO_FATAL_FAILURE(consumer.act(made));
        }
    }
    EXPECT_EQ(consumer.got, made.size());
    EXPECT_TRUE(waited);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
}

/// Leaves a large heap and a small one with the consumer. There is room for many small ones, and none for a
/// large one.
struct Full : Rig {
    Full() : Rig(128 * kKiB, 64 * kKiB) {
        add_source();
        add_lane(0, lossless());
        for (const std::size_t length : {60'000U, 100U}) {
            give(MadeHeap{.cnt = 1000 + held.size(), .length = length, .packet = 8000}.frames());
            held.push_back(lane().queue.try_pop());
            EXPECT_TRUE(held.back());
        }
    }
    ~Full() { held.clear(); }

    /// Adds a large heap's packets, and a small heap's behind them.
    void add_heaps() {
        queue().add(kLarge.frames());
        queue().add(kSmall.frames());
    }
    static inline const MadeHeap kLarge{.cnt = 2, .length = 40'000, .packet = 8000};
    static inline const MadeHeap kSmall{.cnt = 3, .length = 100};

    std::vector<heap::HeapHandle> held;
};

TEST(WaitingPackets, WaitWithAllThatCameBehindThem) {
    Full rig;
    rig.add_heaps();
    rig.queue().add(MadeHeap{.cnt = 4, .length = 100}.frames({.to = 0xEF010299}));
    for (int i = 0; i < 5; i++)
        rig.poll();
    EXPECT_TRUE(rig.agent.blocked());
    EXPECT_EQ(rig.sources[0]->waiting.count, 7U);
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 0U);
    EXPECT_EQ(rig.lane().counters.heaps_started, 2U);
    rig.held.clear();
    rig.poll_all();
    EXPECT_FALSE(rig.agent.blocked());
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 1U);
    const std::vector<Taken> all = rig.take();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(is_whole(all[0], Full::kLarge));
    EXPECT_TRUE(is_whole(all[1], Full::kSmall));
}

TEST(WaitingPackets, LeaveOtherSourcesAlone) {
    Full rig;
    const std::size_t other = rig.add_source();
    LaneConfig c = lane_config("s1", one_group(0xEF010204));
    rig.add_lane(other, c);
    rig.add_heaps();
    rig.queue(other).add(MadeHeap{.cnt = 7, .length = 100}.frames({.to = 0xEF010204}));
    rig.queue(other).add(MadeHeap{.cnt = 8, .length = 60'000, .packet = 9000}.frames({.to = 0xEF010204})[0]);
    rig.poll();
    EXPECT_EQ(rig.count(PacketOutcome::placed, 1), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::no_memory, 1), 1U) << "that stream may lose packets";
    EXPECT_EQ(rig.sources[0]->waiting.count, 6U);
}

/// Returns the datagram of a heap in one packet, with an item before the specials and one behind them. Its
/// item pointers do not lie next to each other.
Bytes with_items_around(std::uint64_t cnt, std::size_t heap_length, std::size_t length, std::uint64_t id) {
    wire::test::Packet p;
    p.payload.assign(length, static_cast<std::uint8_t>(cnt));
    return p.immediate(id, cnt).specials(cnt, heap_length, 0).immediate(id + 1, cnt).build();
}

TEST(WaitingPackets, KeepTheirItemsWhenOthersOfTheirStreamAreDecodedMeanwhile) {
    const wire::Flavour flavour;
    for (const bool in_segments : {false, true}) {
        SCOPED_TRACE(in_segments);
        Full rig;
        // The stream's second source, on the same lcore.
        Source& other = *rig.sources[rig.add_source()];
        ASSERT_TRUE(other.classifier.add(rig.lane().config.endpoints[0], {0, 0}));
        other.lanes.push_back(0);
        other.flows = FlowCache(other.classifier.size());

        const Bytes first = frame(with_items_around(2, 40'000, 8000, 0x1000));
        if (in_segments)
            rig.queue(0).add(rig.queue(0).chain(first, {60, 40}));
        else
            rig.queue(0).add(first);
        // Heap 2 has no room, heap 3 has.
        rig.queue(1).add(frame(with_items_around(3, 100, 100, 0x2000)));
        rig.poll();
        EXPECT_EQ(rig.sources[0]->waiting.count, 1U);
        EXPECT_TRUE(rig.sources[0]->waiting.decoded);
        EXPECT_EQ(rig.lane().counters.heaps_started, 3U);
        rig.held.clear();
        rig.poll_all();

        std::vector<Taken> all;
        for (int i = 0; i < 10 && all.size() < 2; i++) {
            rig.agent.flush();
            for (Taken& t : rig.take())
                all.push_back(std::move(t));
        }
        ASSERT_EQ(all.size(), 2U);
        std::sort(all.begin(), all.end(), [](const Taken& a, const Taken& b) { return a.cnt < b.cnt; });
        for (std::size_t i = 0; i < 2; i++) {
            std::vector<std::uint64_t> want;
            for (const std::uint64_t id : {0U, 1U})
                want.push_back(byte_swap(flavour.make_immediate(0x1000 * (i + 1) + id, 2 + i)));
            EXPECT_EQ(all[i].cnt, 2 + i);
            EXPECT_EQ(all[i].items, want) << "of heap " << all[i].cnt;
        }
    }
}

TEST(WaitingPackets, AreTakenAtLastWhenNothingComesBack) {
    // Four heaps are live and have all memory; none of them can go on, since the fifth is in front.
    Rig rig(256 * kKiB, 64 * kKiB);
    rig.add_source();
    rig.add_lane(0, lossless());
    for (std::uint64_t cnt = 1; cnt <= 4; cnt++)
        rig.give(MadeHeap{.cnt = cnt, .length = 60'000, .packet = 8000}.frames()[0]);
    rig.give(MadeHeap{.cnt = 5, .length = 60'000, .packet = 8000}.frames()[0]);
    EXPECT_TRUE(rig.agent.blocked());
    rig.poll();
    EXPECT_FALSE(rig.agent.blocked());
    EXPECT_EQ(rig.count(PacketOutcome::no_memory), 1U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 4U);
}

TEST(WaitingPackets, AreTakenAtTheEndOfARunWhenTheConsumerMakesRoom) {
    Full rig;
    rig.add_heaps();
    rig.poll();
    EXPECT_FALSE(rig.agent.flush());
    EXPECT_FALSE(rig.agent.flush());
    rig.held.clear();
    EXPECT_TRUE(rig.agent.flush());
    EXPECT_EQ(rig.take().size(), 2U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 8U + 1 + 5 + 1);
}

TEST(WaitingPackets, AreCountedWhenTheirConsumerIsGivenUp) {
    Full rig;
    rig.add_heaps();
    rig.poll();
    EXPECT_FALSE(rig.agent.flush());
    rig.agent.drop_rest();
    EXPECT_TRUE(rig.agent.flush());
    EXPECT_EQ(rig.count(PacketOutcome::no_memory), 5U);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 8U + 1 + 1) << "the small heap behind it has room";
    EXPECT_EQ(rig.sources[0]->waiting.count, 0U);
}

TEST(WaitingPackets, GoWithTheirPortUncounted) {
    Full rig;
    rig.add_heaps();
    rig.poll();
    EXPECT_EQ(rig.sources[0]->waiting.count, 6U);
    rig.sources[0]->waiting.drop();
    rig.queue().forget(6);
    rig.held.clear();
    rig.poll_all();
    EXPECT_FALSE(rig.agent.blocked());
    EXPECT_EQ(rig.lane().counters.heaps_started, 2U);
}

TEST(WaitingPackets, AreLookedAtAnewWhenTheTablesChange) {
    Full rig;
    rig.add_heaps();
    rig.poll();
    SourceTables nobody;
    nobody.flows = FlowCache(nobody.classifier.size());
    nobody.exchange(*rig.sources[0]);
    rig.poll_all();
    EXPECT_EQ(rig.count(PortOutcome::unmatched), 6U);
    EXPECT_EQ(rig.sources[0]->waiting.count, 0U);
}

/// Counts what it sees.
class Counting : public PacketFilter {
  public:
    explicit Counting(std::uint64_t& seen) : seen_(seen) {}
    FilterAnswer look(const FilterPacket&) noexcept override {
        seen_++;
        return FilterAnswer::keep;
    }

  private:
    std::uint64_t& seen_;
};

TEST(WaitingPackets, AreFilteredOnceHoweverLongTheyWait) {
    std::uint64_t seen = 0;
    Full rig;
    rig.lane().filter = std::make_unique<FilterGate>(std::make_unique<Counting>(seen), 0);
    rig.add_heaps();
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_EQ(seen, 1U);
    rig.held.clear();
    rig.poll_all();
    EXPECT_EQ(seen, 6U);
}

}  // namespace
}  // namespace spead::recv::test
