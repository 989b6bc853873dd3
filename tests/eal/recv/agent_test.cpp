// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "tests/eal/recv/rig.hpp"

/// Tests the agent's ways through a burst, several sources and streams, and when it hands heaps over.
namespace spead::recv::test {
namespace {

/// Returns frames of several heaps, `live` of them at once, dealt packet by packet.
std::vector<Bytes> interleaved(std::uint64_t first, std::uint64_t heaps, std::size_t length,
                               std::size_t packet, const Way& way = {}, std::uint64_t live = 4) {
    std::vector<Bytes> frames;
    for (std::uint64_t group = 0; group < heaps; group += live) {
        std::vector<std::vector<Bytes>> each;
        for (std::uint64_t i = group; i < std::min(heaps, group + live); i++)
            each.push_back(MadeHeap{.cnt = first + i,
                                    .length = length,
                                    .packet = packet,
                                    .items = {wire::Flavour(48).make_address(0x1000, 0),
                                              wire::Flavour(48).make_immediate(0x1001, i)}}
                               .frames(way));
        for (std::size_t k = 0; k < each[0].size(); k++)
            for (const auto& of_one : each)
                frames.push_back(of_one[k]);
    }
    return frames;
}

void expect_whole(const std::vector<Taken>& heaps, std::uint64_t first, std::uint64_t count,
                  std::size_t length) {
    ASSERT_EQ(heaps.size(), count);
    std::vector<std::uint64_t> counts;
    for (const Taken& h : heaps) {
        ASSERT_TRUE(is_whole(h, {.cnt = h.cnt, .length = length}));
        ASSERT_EQ(h.items.size(), 2U);
        counts.push_back(h.cnt);
    }
    std::sort(counts.begin(), counts.end());
    for (std::uint64_t i = 0; i < count; i++)
        ASSERT_EQ(counts[i], first + i);
}

/// Checks whole bursts and short batches: the source's note decides between them.
TEST(RxAgent, MakesTheSameHeapsInWholeBurstsAndInShortBatches) {
    std::vector<std::vector<Taken>> results;
    for (const std::size_t packet : {64U, 700U, 1400U, 3000U, 8192U}) {
        OneStream rig;
        constexpr std::size_t kLength = 40'000;
        std::vector<Taken> heaps;
        for (std::uint64_t first = 1; first <= 16; first += 4) {
            rig.give(interleaved(first, 4, kLength, packet));
            for (Taken& h : rig.take())
                heaps.push_back(std::move(h));
        }
        EXPECT_EQ(RxAgent::kBurst > rig.sources[0]->staged, packet > 64U);
        EXPECT_EQ(RxAgent::kBurst > rig.sources[0]->batch, packet > 700U);
        expect_whole(heaps, 1, 16, kLength);
        EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
        results.push_back(std::move(heaps));
    }
    for (const auto& result : results)
        EXPECT_EQ(result, results[0]);
}

TEST(RxAgent, ChangesItsBatchesWithTheSizeOfPackets) {
    OneStream rig;
    std::uint64_t cnt = 1;
    for (const std::size_t packet : {8000U, 64U, 8000U, 64U}) {
        for (int i = 0; i < 3; i++, cnt += 4)
            rig.give(interleaved(cnt, 4, 32'000, packet));
        EXPECT_EQ(rig.sources[0]->batch < RxAgent::kBurst, packet == 8000);
    }
    // Both in one burst.
    std::vector<Bytes> mixed = interleaved(cnt, 4, 32'000, 8000);
    const std::vector<Bytes> small = interleaved(cnt + 1000, 4, 3200, 64);
    for (std::size_t i = 0; i < small.size(); i++)
        mixed.insert(mixed.begin() + static_cast<std::ptrdiff_t>(std::min(mixed.size(), i * 2)), small[i]);
    LaneConfig second = lane_config("s1", one_group(0xEF010204));
    for (const Bytes& f : mixed)
        rig.queue().add(f);
    rig.poll_all();
    EXPECT_EQ(rig.others(PortOutcome::stream), 0U);
    EXPECT_EQ(rig.count(PacketOutcome::placed) + rig.count(PacketOutcome::late),
              rig.picture().streams[0].received);
    rig.take();
}

TEST(RxAgent, TakesHeadersOfEveryUsualKindInOneStream) {
    OneStream rig;
    const std::vector<Way> ways{{},
                                {.padding = 18},
                                {.tags = {wire::kEtherTypeVlan}},
                                {.tags = {wire::kEtherTypeQinQ, wire::kEtherTypeVlan}},
                                {.ihl = 6},
                                {.tags = {wire::kEtherTypeVlan}, .ihl = 15},
                                {.tos = 0xB8, .ttl = 64, .id = 777}};
    std::uint64_t cnt = 0;
    for (int round = 0; round < 3; round++)
        for (const Way& way : ways) {
            const MadeHeap h{.cnt = ++cnt};
            rig.give(h.frames(way));
            const std::vector<Taken> heaps = rig.take();
            ASSERT_EQ(heaps.size(), 1U);
            EXPECT_TRUE(is_whole(heaps[0], h));
            EXPECT_EQ(heaps[0].source, way.from);
        }
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    // And within one heap, packet by packet.
    const MadeHeap mixed{.cnt = 100, .length = 7000, .packet = 100};
    const std::vector<Bytes> datagrams = mixed.datagrams();
    for (std::size_t i = 0; i < datagrams.size(); i++)
        rig.queue().add(frame(datagrams[i], ways[i % ways.size()]));
    rig.poll_all();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], mixed));
}

TEST(RxAgent, TellsApartStreamsThatShareASource) {
    Rig rig;
    rig.add_source();
    constexpr std::uint32_t kStreams = 12;
    for (std::uint32_t i = 0; i < kStreams; i++)
        rig.add_lane(0, lane_config("s" + std::to_string(i), one_group(0xEF0A0000 + i)));
    std::vector<std::vector<Bytes>> each;
    for (std::uint32_t i = 0; i < kStreams; i++)
        each.push_back(interleaved(1 + i, 8, 3000, 400, {.to = 0xEF0A0000 + i}));
    for (std::size_t k = 0; k < each[0].size(); k++)
        for (const auto& of_one : each)
            rig.queue().add(of_one[k]);
    rig.poll_all();
    for (std::uint32_t i = 0; i < kStreams; i++) {
        EXPECT_EQ(rig.others(PacketOutcome::placed, i), 0U);
        std::vector<Taken> heaps;
        while (heap::HeapHandle h = rig.lane(i).queue.try_pop())
            heaps.push_back(taken(h));
        expect_whole(heaps, 1 + i, 8, 3000);
    }
}

/// Sends streams by turns, with chains and broken frames between their packets.
TEST(RxAgent, TakesManyStreamsByTurnsWhateverIsBetweenThem) {
    Rig rig(32U << 20, 512U << 10, 8191);
    rig.add_source();
    constexpr std::uint32_t kStreams = 70;
    constexpr std::uint64_t kHeaps = 12;
    constexpr std::size_t kLength = 2000;
    for (std::uint32_t i = 0; i < kStreams; i++)
        rig.add_lane(0, lane_config("s" + std::to_string(i), one_group(0xEF0A0000 + i)));
    std::vector<std::vector<Bytes>> each;
    for (std::uint32_t i = 0; i < kStreams; i++)
        each.push_back(interleaved(1 + i, kHeaps, kLength, 400, {.to = 0xEF0A0000 + i}));
    Random random(3);
    std::uint64_t broken = 0;
    for (std::size_t k = 0; k < each[0].size(); k++) {
        for (const auto& of_one : each) {
            const Bytes& f = of_one[k];
            if (random() % 8 == 0)
                rig.queue().add(rig.queue().chain(f, {1 + random() % (f.size() - 1)}));
            else
                rig.queue().add(f);
            if (random() % 8 == 0) {
                const std::size_t size = 1 + random() % (wire::kNetHeader + wire::kSpeadHeader);
                rig.queue().add(Bytes(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(size)));
                broken++;
            }
        }
        rig.poll_all();
    }
    EXPECT_EQ(rig.others(PortOutcome::stream), broken);
    for (std::uint32_t i = 0; i < kStreams; i++) {
        EXPECT_EQ(rig.others(PacketOutcome::placed, i), 0U);
        std::vector<Taken> heaps;
        while (heap::HeapHandle h = rig.lane(i).queue.try_pop())
            heaps.push_back(taken(h));
        expect_whole(heaps, 1 + i, kHeaps, kLength);
    }
}

TEST(RxAgent, TellsApartSourcesWithTheSameGroups) {
    Rig rig;
    for (std::size_t i = 0; i < 3; i++) {
        rig.add_source();
        rig.add_lane(i, lane_config("s" + std::to_string(i), one_group()));
    }
    for (std::uint64_t i = 0; i < 3; i++)
        rig.queue(i).add(interleaved(100 * (i + 1), 12, 3000, 400));
    rig.poll_all();
    for (std::size_t i = 0; i < 3; i++) {
        EXPECT_EQ(rig.count(PacketOutcome::placed, i), 12U * 8);
        std::vector<Taken> heaps;
        while (heap::HeapHandle h = rig.lane(i).queue.try_pop())
            heaps.push_back(taken(h));
        expect_whole(heaps, 100 * (i + 1), 12, 3000);
    }
}

TEST(RxAgent, ReceivesOneStreamFromSeveralSources) {
    Rig rig;
    rig.add_source();
    rig.add_source();
    SpeadLane& lane = rig.add_lane(0, lane_config("s0", one_group()));
    ASSERT_TRUE(rig.sources[1]->classifier.add(one_group()[0], {0, 0}));
    rig.sources[1]->lanes.push_back(0);
    const std::vector<Bytes> frames = interleaved(1, 8, 4000, 400);
    for (std::size_t i = 0; i < frames.size(); i++)
        rig.queue(i % 2).add(frames[i]);
    rig.poll_all();
    EXPECT_EQ(lane.counters[PacketOutcome::placed], frames.size());
    expect_whole(rig.take(), 1, 8, 4000);
}

TEST(RxAgent, HandsOverAtOnceWhenNoMorePacketsWait) {
    OneStream rig;
    rig.queue().add(MadeHeap{.cnt = 1, .length = 100}.frames());
    rig.poll();
    EXPECT_EQ(rig.lane().queue.size(), 1U);
    // A burst that is not full says the same.
    rig.queue().add(interleaved(2, 4, 4000, 400));
    rig.poll();
    EXPECT_EQ(rig.lane().queue.size(), 5U);
    rig.take();
}

TEST(RxAgent, HandsOverWithinAFewBurstsUnderFullLoad) {
    // One heap ends, and then the packets of another keep every burst full.
    OneStream rig;
    rig.queue().add(MadeHeap{.cnt = 1, .length = 100}.frames());
    std::vector<Bytes> load = MadeHeap{.cnt = 2, .length = 200'000, .packet = 100}.frames();
    load.resize(640);
    rig.queue().add(load);
    int polls = 0;
    while (rig.lane().queue.empty()) {
        ASSERT_TRUE(rig.poll());
        ASSERT_EQ(rig.agent.last_burst(), RxAgent::kBurst) << "the load must be full for this";
        polls++;
    }
    EXPECT_LE(polls, 4);
    rig.poll_all();
    rig.take();
}

TEST(RxAgent, HandsOverManySmallHeapsUnderFullLoadAtOnce) {
    OneStream rig;
    for (std::uint64_t cnt = 1; cnt <= 128; cnt++)
        rig.queue().add(MadeHeap{.cnt = cnt, .length = 64}.frames());
    rig.poll();
    EXPECT_EQ(rig.lane().queue.size(), 64U);
    rig.poll();
    EXPECT_EQ(rig.lane().queue.size(), 128U);
    rig.take();
}

TEST(RxAgent, EndsHeapsWhoseTimeIsOver) {
    LaneConfig config = lane_config("s0", one_group());
    config.window.timeout_ticks = 1'000'000;
    OneStream rig(config);
    rig.queue().add(MadeHeap{.cnt = 1}.frames()[0]);
    rig.poll();
    rig.agent.housekeep(rig.now + 1'000'000);
    EXPECT_TRUE(rig.lane().queue.empty());
    rig.agent.housekeep(rig.now + 1'000'001);
    ASSERT_EQ(rig.ended(HeapEnd::timed_out), 1U);
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_FALSE(heaps[0].complete);
    EXPECT_EQ(heaps[0].missing, (std::vector<heap::Range>{{400, 1000}}));
}

TEST(RxAgent, FlushesWhatIsLiveInOrderOfItsStart) {
    OneStream rig;
    for (const std::uint64_t cnt : {9U, 3U, 7U})
        rig.give(MadeHeap{.cnt = cnt}.frames()[0]);
    EXPECT_TRUE(rig.agent.flush());
    std::vector<std::uint64_t> counts;
    for (const Taken& h : rig.take())
        counts.push_back(h.cnt);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{9, 3, 7}));
    EXPECT_EQ(rig.ended(HeapEnd::flushed), 3U);
}

// Blocking streams.

LaneConfig blocking(const std::string& name, std::uint32_t group, std::uint32_t queue_heaps) {
    LaneConfig c = lane_config(name, one_group(group));
    c.window.on_full = heap::FullPolicy::block;
    c.queue_heaps = queue_heaps;
    return c;
}

TEST(RxAgent, PausesOnlyTheSourceWhoseConsumerIsBehind) {
    Rig rig;
    rig.add_source();
    rig.add_source();
    rig.add_lane(0, blocking("slow", 0xEF010203, 4));
    rig.add_lane(1, lane_config("fast", one_group(0xEF010204)));
    for (std::uint64_t cnt = 1; cnt <= 300; cnt++) {
        rig.queue(0).add(MadeHeap{.cnt = cnt, .length = 64}.frames());
        rig.queue(1).add(MadeHeap{.cnt = cnt, .length = 64}.frames({.to = 0xEF010204}));
    }
    std::vector<Taken> slow;
    std::size_t fast = 0;
    for (int i = 0; i < 20; i++) {
        rig.poll();
        while (heap::HeapHandle h = rig.lane(1).queue.try_pop())
            fast++;
    }
    EXPECT_EQ(fast, 300U) << "the other source goes on";
    EXPECT_TRUE(rig.agent.blocked());
    EXPECT_EQ(rig.lane(0).queue.size(), 4U);
    EXPECT_EQ(rig.queue(0).taken(), 64U) << "one burst, and then it waits";
    for (int i = 0; i < 1000 && slow.size() < 300; i++) {
        while (heap::HeapHandle h = rig.lane(0).queue.try_pop())
            slow.push_back(taken(h));
        rig.poll();
    }
    ASSERT_EQ(slow.size(), 300U);
    for (std::uint64_t i = 0; i < 300; i++)
        EXPECT_TRUE(is_whole(slow[i], {.cnt = i + 1, .length = 64}));
    EXPECT_FALSE(rig.agent.blocked());
    EXPECT_EQ(rig.count(PacketOutcome::placed, 0), 300U);
}

/// Checks that a full burst of another source does not make the agent forget that a stream waits.
TEST(RxAgent, KeepsASourcePausedWhileOthersRunAtFullLoad) {
    Rig rig;
    rig.add_source();
    rig.add_source();
    rig.add_lane(0, blocking("slow", 0xEF010203, 4));
    rig.add_lane(1, lane_config("fast", one_group(0xEF010204)));
    // Just over the queue: fewer heaps wait than are worth a hand-over under load.
    for (std::uint64_t cnt = 1; cnt <= 8; cnt++)
        rig.queue(0).add(MadeHeap{.cnt = cnt, .length = 64}.frames());
    rig.poll();
    ASSERT_TRUE(rig.agent.blocked());
    for (std::uint64_t cnt = 9; cnt <= 200; cnt++)
        rig.queue(0).add(MadeHeap{.cnt = cnt, .length = 64}.frames());
    const MadeHeap endless{.cnt = 1, .length = 200'000, .packet = 200};
    for (const Bytes& f : endless.frames({.to = 0xEF010204})) {
        rig.queue(1).add(f);
        if (rig.queue(1).waiting() == 64) {
            rig.poll();
            ASSERT_TRUE(rig.agent.blocked());
            ASSERT_EQ(rig.queue(0).taken(), 8U);
        }
    }
    std::size_t slow = 0;
    for (int i = 0; i < 1000 && slow < 200; i++) {
        while (heap::HeapHandle h = rig.lane(0).queue.try_pop())
            slow++;
        rig.poll();
    }
    EXPECT_EQ(slow, 200U);
}

TEST(RxAgent, LosesNothingOfALosslessSourceHoweverLittleMemoryThereIs) {
    // Heaps of 16 KiB; memory for the live ones and a few more; the consumer takes one now and then.
    Rig rig(1U << 20, 64U << 10);
    rig.add_source();
    LaneConfig config = blocking("s0", 0xEF010203, 256);
    config.window.max_heap_bytes = 64U << 10;
    rig.add_lane(0, config);
    constexpr std::uint64_t kHeaps = 400;
    std::uint64_t next = 1;
    std::uint64_t got = 0;
    std::vector<heap::HeapHandle> held;
    while (got < kHeaps) {
        while (next <= kHeaps && rig.queue().waiting() < 256)
            rig.queue().add(MadeHeap{.cnt = next++, .length = 16'000, .packet = 4000}.frames());
        rig.poll();
        if (heap::HeapHandle h = rig.lane().queue.try_pop()) {
            got++;
            ASSERT_TRUE(is_whole(taken(h), {.cnt = got, .length = 16'000}));
            held.push_back(std::move(h));
            if (held.size() == 8)
                held.clear();
        }
    }
    held.clear();
    EXPECT_EQ(rig.count(PacketOutcome::placed), kHeaps * 4);
    EXPECT_EQ(rig.others(PacketOutcome::placed), 0U);
    EXPECT_EQ(rig.lane().counters.heaps_dropped_full, 0U);
}

TEST(RxAgent, DropsNothingThatFitsOnceConsumersHaveGivenMemoryBack) {
    // As much memory as four heaps; the consumer is always done before the next one ends.
    Rig rig(256U << 10, 64U << 10);
    rig.add_source();
    LaneConfig config = lane_config("s0", one_group());
    config.window.max_heap_bytes = 64U << 10;
    config.window.max_live = 1;
    rig.add_lane(0, config);
    for (std::uint64_t cnt = 1; cnt <= 50; cnt++) {
        rig.give(MadeHeap{.cnt = cnt, .length = 64U << 10, .packet = 8192}.frames());
        ASSERT_EQ(rig.take().size(), 1U) << "heap " << cnt;
    }
    EXPECT_EQ(rig.lane().counters.heaps_dropped_full, 0U);
}

TEST(RxAgent, GivesUpWhatABlockingQueueWillNeverTake) {
    Rig rig;
    rig.add_source();
    rig.add_lane(0, blocking("s0", 0xEF010203, 2));
    for (std::uint64_t cnt = 1; cnt <= 10; cnt++)
        rig.queue().add(MadeHeap{.cnt = cnt, .length = 64}.frames());
    rig.queue().add(MadeHeap{.cnt = 11}.frames()[0]);
    rig.poll_all();
    EXPECT_FALSE(rig.agent.flush());
    EXPECT_FALSE(rig.agent.flush());
    rig.agent.drop_rest();
    EXPECT_TRUE(rig.agent.flush());
    const stats::Snapshot s = rig.picture();
    EXPECT_EQ(s.streams[0].heaps_queued, 2U);
    EXPECT_EQ(s.streams[0].heaps_dropped_full, 9U);
    EXPECT_EQ(rig.take().size(), 2U);
}

TEST(RxAgent, CountsBurstsAndFullOnes) {
    OneStream rig;
    rig.queue().add(interleaved(1, 4, 4000, 100));  // 160 packets
    rig.poll_all();
    EXPECT_EQ(rig.sources[0]->counters.bursts, 3U);
    EXPECT_EQ(rig.sources[0]->counters.full_bursts, 2U);
    rig.take();
}

/// Keeps mbufs out of their pool while another reference to them is left.
TEST(RxAgent, ReleasesOnlyItsOwnReferenceToABuffer) {
    OneStream rig;
    rte_mbuf* const m = rig.pool.make(MadeHeap{.cnt = 1, .length = 100}.frames()[0]);
    rte_mbuf_refcnt_update(m, 1);
    rig.queue().add(m);
    rig.poll_all();
    EXPECT_EQ(rig.pool.in_use(), 1U);
    rte_pktmbuf_free(m);
    EXPECT_TRUE(rig.pool.full());
    EXPECT_EQ(rig.take().size(), 1U);
}

}  // namespace
}  // namespace spead::recv::test
