// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "base/verify_sequence.hpp"
#include "tests/eal/recv/gather_rig.hpp"
#include "tests/support/sanitized.hpp"

/// Tests heaps in memory that the CPU may not touch, under the real agent: a byte that it reads or writes
/// there ends the test's process.
namespace spead::recv::test {
namespace {

using namespace std::chrono_literals;

/// Sends frames into the rig's port, each whole or in segments, and polls so that the ring has room.
class Sending {
  public:
    explicit Sending(GatherRig& rig, unsigned mbufs = 16383) : rig_(rig), pool_(mbufs, 2048), queue_(pool_) {}
    /// Sends one frame; polls first while none of the port's mbufs is free.
    void send(const Bytes& frame, const std::vector<std::size_t>& segments = {}) {
        rte_mbuf* const m = segments.empty() ? pool_.make(frame) : queue_.chain(frame, segments);
        ASSERT_TRUE(port::test::send(rig_.tx(), m));
        sent++;
    }
    /// Returns whether as many mbufs are free as a frame may take.
    bool has(unsigned mbufs) const { return rte_mempool_avail_count(pool_.get()) >= mbufs; }
    const Pool& pool() const { return pool_; }

    std::uint64_t sent = 0;

  private:
    GatherRig& rig_;
    Pool pool_;
    FakeRx queue_;
};

/// Makes the packets of heaps whose payload is the verification sequence of their counts.
struct SequenceHeap {
    std::uint64_t cnt = 0;
    std::size_t length = 0;

    Bytes frame_of(std::size_t at, std::size_t n) const {
        wire::test::Packet p;
        p.payload.resize(n);
        verify_generate(std::as_writable_bytes(std::span(p.payload)), first(), at);
        p.specials(cnt, length, at);
        return frame(p.build());
    }
    std::uint64_t first() const { return cnt * 7919; }
};

std::uint64_t packets_to_send() {
    const char* const asked = std::getenv("DPDK_SPEAD_GATHER_PACKETS");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : spead::test::cases(100'000);
}

/// Compares every byte that arrived. Returns the number of wrong ones.
std::uint64_t wrong_bytes(const Taken& t, std::uint64_t& compared) {
    const SequenceHeap made{t.cnt, 0};
    std::vector<heap::Range> holes = t.missing;
    holes.push_back({static_cast<std::uint32_t>(t.payload.size()), 0});
    std::uint64_t wrong = 0;
    std::size_t at = 0;
    for (const heap::Range& hole : holes) {
        const auto bytes = std::as_bytes(std::span(t.payload)).subspan(at, hole.begin - at);
        wrong += verify_check(bytes, made.first(), at) != bytes.size();
        compared += bytes.size();
        at = hole.end;
    }
    return wrong;
}

TEST(Gather, ShuffledAndLostPacketsOfAnyShapeEndInTheRightBytes) {
    GatherRig rig(8);
    rig.engine->faults().delay_us = 200;
    std::mt19937_64 random(1);
    Sending sending(rig);
    std::vector<Taken> heaps;
    rig.keep = &heaps;
    std::uint64_t wrong = 0;
    std::uint64_t compared = 0;
    std::uint64_t complete = 0;
    std::uint64_t incomplete = 0;
    const auto look = [&] {
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
        for (const Taken& t : heaps) {
            wrong += wrong_bytes(t, compared);
            (t.complete ? complete : incomplete)++;
        }
        heaps.clear();
    };
    struct Piece {
        SequenceHeap heap;
        std::size_t at;
        std::size_t length;
    };
    std::vector<Piece> mixing;
    std::uint64_t cnt = 0;
    const std::uint64_t packets = packets_to_send();
    std::uint64_t lost = 0;
    while (sending.sent < packets) {
        const SequenceHeap h{++cnt, 1 + random() % 60'000};
        const std::size_t packet = 100 + random() % 1400;
        for (std::size_t at = 0; at < h.length; at += packet)
            mixing.push_back({h, at, std::min(packet, h.length - at)});
        while (mixing.size() > 80) {
            const std::size_t i = random() % 60;
            const Piece p = mixing[i];
            mixing[i] = mixing.front();
            mixing.erase(mixing.begin());
            if (random() % 400 == 0) {
                lost++;
                continue;
            }
            const Bytes f = p.heap.frame_of(p.at, p.length);
            std::vector<std::size_t> segments;
            if (random() % 4 == 0)
                for (std::size_t n = random() % 6; n != 0; n--)
                    segments.push_back(random() % (f.size() / 2));
            while (!sending.has(16)) {
                rig.poll();
                std::this_thread::yield();
            }
            ASSERT_NO_FATAL_FAILURE(sending.send(f, segments));
            if (sending.sent % 64 == 0) {
                rig.ticks = random() % 8 == 0 ? 1'000'000 : 1000;
                rig.poll();
                look();
            }
        }
    }
    rig.poll_until(sending.sent);
    rig.end();
    look();
    const stats::StreamSnapshot s = rig.picture().streams[0];
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(compared, s.bytes) << "every byte that was placed is in a heap";
    EXPECT_EQ(s.received, sending.sent);
    EXPECT_EQ(rig.count(PacketOutcome::placed) + rig.count(PacketOutcome::late), sending.sent);
    EXPECT_EQ(s.heaps_delivered, complete + incomplete);
    EXPECT_EQ(s.heaps_started, s.heaps_delivered);
    EXPECT_GT(complete, packets / 200);
    EXPECT_GT(incomplete, lost / 10);
    EXPECT_GT(rig.engine->moved(), packets / 256);
    EXPECT_TRUE(sending.pool().full());
}

/// Returns a heap that is small enough for every split, with two packets.
MadeHeap split_heap(std::uint64_t cnt) {
    const wire::Flavour flavour(48);
    return {.cnt = cnt,
            .length = 61,
            .packet = 37,
            .items = {flavour.make_address(0x1000, 0), flavour.make_immediate(0x1002, cnt)}};
}

TEST(Gather, APacketMayBeSplitAnywhere) {
    GatherRig rig(4);
    Sending sending(rig);
    std::vector<Taken> heaps;
    const std::size_t length = split_heap(1).frames()[0].size();
    std::uint64_t cnt = 0;
    for (std::size_t a = 0; a <= length; a++)
        for (const std::size_t b : {std::size_t{0}, std::size_t{1}, std::size_t{40}, length}) {
            const std::vector<Bytes> frames = split_heap(++cnt).frames();
            ASSERT_NO_FATAL_FAILURE(sending.send(frames[0], {a, b}));
            ASSERT_NO_FATAL_FAILURE(sending.send(frames[1], {a}));
            if (cnt % 32 == 0)
                rig.poll_until(sending.sent);
        }
    rig.poll_until(sending.sent);
    rig.settle();
    heaps = rig.take();
    ASSERT_EQ(heaps.size(), cnt);
    for (const Taken& t : heaps) {
        ASSERT_TRUE(is_whole(t, split_heap(t.cnt)));
        ASSERT_EQ(t.items.size(), 2U);
    }
    EXPECT_EQ(rig.count(PacketOutcome::placed), 2 * cnt);
}

TEST(Gather, PacketsOfManySegmentsCloseBatchesAndWaitForThem) {
    GatherRig rig(2);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    const MadeHeap h{.cnt = 1, .length = 60 * 500, .packet = 500};
    for (const Bytes& f : h.frames())
        ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(100, 5)));
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_LT(rig.received(), 60U) << "two batches have no room for 6060 pieces";
    EXPECT_GT(rig.received(), 2U);
    EXPECT_GT(rig.source.waiting.count, 0U) << "they are in order, and in no counter";
    rig.engine->faults().stalls = false;
    rig.poll_until(60);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_TRUE(is_whole(heaps[0], h));
}

TEST(Gather, APacketInMoreSegmentsThanABatchHasPiecesIsMalformed) {
    GatherRig rig(2);
    Sending sending(rig);
    const Bytes f = MadeHeap{.cnt = 1, .length = 1000, .packet = 1000}.frames()[0];
    ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(Gathering::kMaxSegments - 1, 2)));
    ASSERT_NO_FATAL_FAILURE(sending.send(f, std::vector<std::size_t>(Gathering::kMaxSegments, 2)));
    rig.poll_until(2);
    EXPECT_EQ(rig.count(PacketOutcome::placed), 1U);
    EXPECT_EQ(rig.source.counters[PortOutcome::malformed], 1U);
    rig.end();
}

TEST(Gather, ManyItemsAndHolesAreKeptOutsideOfTheHeapsMemory) {
    GatherRig rig;
    Sending sending(rig);
    MadeHeap h{.cnt = 5, .length = 100 * 100, .packet = 100};
    for (std::uint64_t i = 0; i < 60; i++)
        h.items.push_back(h.flavour.make_immediate(0x1000 + i, i));
    const std::vector<Bytes> frames = h.frames();
    for (std::size_t i = 0; i < frames.size(); i += 2)
        ASSERT_NO_FATAL_FAILURE(sending.send(frames[i]));
    rig.poll_until(50);
    std::vector<Taken> heaps;
    rig.keep = &heaps;
    rig.end();
    for (Taken& t : rig.take())
        heaps.push_back(std::move(t));
    ASSERT_EQ(heaps.size(), 1U);
    EXPECT_EQ(heaps[0].items.size(), 60U);
    ASSERT_EQ(heaps[0].missing.size(), 50U);
    for (std::size_t i = 0; i < 9900; i += i % 100 == 99 ? 101 : 1)
        ASSERT_EQ(static_cast<std::uint8_t>(heaps[0].payload[i]), h.byte(i));
}

TEST(Gather, AStalledEngineCostsABoundedAmountAndNothingThatWasTaken) {
    constexpr std::size_t kBatches = 2;
    constexpr std::uint64_t kHeaps = 1000;
    GatherRig rig(kBatches);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++)
        ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0]));
    for (int i = 0; i < 300; i++)
        rig.poll();
    EXPECT_GE(rig.received(), (kBatches - 1) * gather::Batch::kMaxPackets);
    EXPECT_LE(rig.received(), kBatches * gather::Batch::kMaxPackets);
    EXPECT_GT(rig.source.counters.gather_full, 100U);
    EXPECT_TRUE(rig.take().empty());
    EXPECT_TRUE(rig.agent.is_gathering());
    EXPECT_EQ(sending.pool().in_use(), kHeaps) << "they wait in the port's queue";
    rig.engine->faults().stalls = false;
    rig.poll_until(kHeaps);
    rig.settle();
    const std::vector<Taken> heaps = rig.take();
    ASSERT_EQ(heaps.size(), kHeaps);
    for (std::uint64_t i = 0; i < heaps.size(); i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 100}));
}

TEST(Gather, AnEngineThatStandsStillIsGivenUpAndNothingIsUsedAgainThatItMayWrite) {
    // It outlives the rig, as its thread outlives the engine.
    const Pool pool(1023, 2048);
    std::weak_ptr<const memory::Region> memory;
    std::weak_ptr<const gather::Channel> batches;
    gather::FakeEngineFaults* faults = nullptr;
    std::vector<rte_mbuf*> kept;
    {
        GatherRig rig(4);
        rig.was_given_up = true;
        memory = rig.region;
        batches = rig.channel;
        faults = &rig.engine->faults();
        faults->stalls = true;
        for (std::uint64_t cnt = 1; cnt <= 300; cnt++)
            ASSERT_TRUE(port::test::send(
                rig.tx(), pool.make(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0])));
        for (int i = 0; i < 20; i++)
            rig.poll();
        ASSERT_EQ(rig.received(), 300U);
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_FALSE(rig.agent.flush());
        EXPECT_FALSE(rig.agent.finish_gathering(rig.now));
        rig.agent.give_up_gathering();
        EXPECT_TRUE(rig.agent.flush());
        EXPECT_EQ(rig.lane->counters.heaps_device_error, 300U);
        EXPECT_EQ(rig.gathering->packets_lost(), 300U) << "batches of 256, and of the rest";
        EXPECT_EQ(pool.in_use(), 300U);
        EXPECT_FALSE(rig.engine->stop(100ms));
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
        for (const gather::Batch& b : rig.channel->batches())
            for (std::uint32_t i = 0; i < b.packet_count; i++)
                kept.push_back(static_cast<rte_mbuf*>(b.packets[i]));
    }
    EXPECT_FALSE(memory.expired()) << "the engine may still write it";
    EXPECT_FALSE(batches.expired());
    faults->stalls = false;
    for (int i = 0; i < 20'000 && !(memory.expired() && batches.expired()); i++)
        std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(memory.expired()) << "it has ended after all";
    EXPECT_TRUE(batches.expired());
    for (rte_mbuf* const m : kept)
        rte_pktmbuf_free(m);
    EXPECT_EQ(kept.size(), 300U);
}

TEST(Gather, AnEngineThatFailsLosesItsLaterHeapsAndNoOthers) {
    const Way other{.to = 0xEF010204};
    GatherRig rig;
    rig.add_host_lane(other.to);
    rig.engine->faults().fails_after = 3;
    Sending sending(rig);
    const auto give = [&](std::uint64_t cnt) {
        for (const Way& way : {Way{}, other})
            for (const Bytes& f : MadeHeap{.cnt = cnt, .length = 1000}.frames(way))
                ASSERT_NO_FATAL_FAILURE(sending.send(f));
    };
    constexpr std::uint64_t kHeaps = 1000;
    std::vector<Taken> heaps;
    for (std::uint64_t cnt = 1; cnt <= kHeaps; cnt++) {
        ASSERT_NO_FATAL_FAILURE(give(cnt));
        rig.poll_until(sending.sent);
        for (Taken& t : rig.take())
            heaps.push_back(std::move(t));
    }
    rig.settle();
    rig.keep = &heaps;
    rig.end();
    for (Taken& t : rig.take())
        heaps.push_back(std::move(t));
    // 3 packets of each heap, 256 packets of a batch, or fewer.
    EXPECT_LE(heaps.size(), 3 * 256 / 3U);
    EXPECT_GE(heaps.size(), 1U);
    for (std::uint64_t i = 0; i < heaps.size(); i++)
        ASSERT_TRUE(is_whole(heaps[i], {.cnt = i + 1, .length = 1000}));
    EXPECT_EQ(rig.lane->counters.heaps_device_error, kHeaps - heaps.size());
    EXPECT_EQ(rig.count(PacketOutcome::placed), 3 * kHeaps) << "packets are not to blame";
    EXPECT_NE(rig.channel->failure().find("batch 4 failed"), std::string::npos) << rig.channel->failure();
    EXPECT_TRUE(sending.pool().full());
    ASSERT_EQ(rig.of_host.size(), kHeaps);
    for (std::uint64_t i = 0; i < kHeaps; i++)
        ASSERT_TRUE(is_whole(rig.of_host[i], {.cnt = i + 1, .length = 1000}));
}

TEST(Gather, NothingComesBackWhileAFailedEngineMayStillWrite) {
    GatherRig rig;
    rig.engine->faults().fails_after = 0;
    rig.engine->faults().lingers = true;
    Sending sending(rig);
    const auto give = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t cnt = from; cnt < to; cnt++)
            ASSERT_NO_FATAL_FAILURE(
                sending.send(MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames()[0]));
        rig.poll_until(sending.sent);
    };
    ASSERT_NO_FATAL_FAILURE(give(1, 301));
    rig.ticks = 1'000'000;
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return rig.channel->has_failed(); }));
    rig.poll();
    EXPECT_EQ(sending.pool().in_use(), 300U);
    ASSERT_NO_FATAL_FAILURE(give(301, 401));
    EXPECT_EQ(sending.pool().in_use(), 300U) << "the engine gets no more";
    EXPECT_EQ(rig.lane->counters.heaps_waiting, 400U);
    EXPECT_EQ(rig.lane->counters.heaps_device_error, 0U);
    EXPECT_EQ(rig.lane->window.records_out(), 400U);
    rig.engine->faults().lingers = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return rig.lane->counters.heaps_waiting == 0; }));
    EXPECT_EQ(rig.lane->counters.heaps_device_error, 400U);
    EXPECT_EQ(rig.lane->window.records_out(), 0U);
    EXPECT_TRUE(sending.pool().full());
}

TEST(Gather, AnOldBatchGoesToTheEngineWithoutFurtherPackets) {
    GatherRig rig;
    Sending sending(rig);
    ASSERT_NO_FATAL_FAILURE(sending.send(MadeHeap{.cnt = 1, .length = 100, .packet = 100}.frames()[0]));
    rig.ticks = 1;
    rig.poll_until(1);
    for (int i = 0; i < 10; i++)
        rig.poll();
    EXPECT_EQ(rig.channel->in_flight(), 0U);
    EXPECT_TRUE(rig.agent.is_gathering());
    rig.now += static_cast<std::uint64_t>(rte_get_tsc_hz() * Gathering::kCloseMicroseconds / 1'000'000);
    rig.poll();
    ASSERT_NO_FATAL_FAILURE(rig.poll_while_not([&] { return !rig.agent.is_gathering(); }));
    rig.poll();
    EXPECT_EQ(rig.take().size(), 1U);
}

TEST(Gather, PacketsOfOtherStreamsGoBackToTheirPoolAtOnce) {
    const Way other{.to = 0xEF010204};
    GatherRig rig;
    rig.add_host_lane(other.to);
    rig.engine->faults().stalls = true;
    Sending sending(rig);
    for (std::uint64_t cnt = 1; cnt <= 40; cnt++)
        for (const Way& way : {Way{}, other})
            for (const Bytes& f : MadeHeap{.cnt = cnt, .length = 100, .packet = 100}.frames(way))
                ASSERT_NO_FATAL_FAILURE(sending.send(f));
    rig.poll_until(80);
    EXPECT_EQ(sending.pool().in_use(), 40U);
    rig.poll();
    EXPECT_TRUE(rig.take().empty());
    EXPECT_EQ(rig.of_host.size(), 40U);
    rig.engine->faults().stalls = false;
    rig.end();
}

}  // namespace
}  // namespace spead::recv::test
