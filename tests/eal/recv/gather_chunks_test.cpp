// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gather/fake_engine.hpp"
#include "tests/eal/recv/rig.hpp"

/// Tests chunks in memory that the CPU may not touch, under real agents: an engine moves the payload, as late
/// as its faults say.
namespace spead::recv::test::gather_chunks_test {
namespace {

constexpr std::size_t kHeap = 4000;
constexpr std::size_t kPacket = 1400;
constexpr std::size_t kSenders = 4;
constexpr std::size_t kTimes = 8;  ///< of a chunk
constexpr std::size_t kHeaps = kSenders * kTimes;

MadeHeap heap_at(std::uint64_t time, std::uint64_t sender) {
    MadeHeap heap{.cnt = time * 16 + sender + 1, .length = kHeap, .packet = kPacket};
    heap.items = {heap.flavour.make_immediate(0x1600, time * 4096),
                  heap.flavour.make_immediate(0x4101, sender)};
    return heap;
}

std::vector<Bytes> packets_of(const MadeHeap& heap, bool all_tell) {
    std::vector<Bytes> all;
    for (std::size_t at = 0; at < heap.length; at += heap.packet)
        all.push_back(frame(heap.datagram(at, std::min(heap.packet, heap.length - at), all_tell || at == 0)));
    return all;
}

/// Holds a stream of chunks in an engine's memory, which several lcores fill. One thread plays them all.
class GatheredChunks {
  public:
    static constexpr std::size_t kChunks = 6;

    GatheredChunks(std::size_t lcore_count, const std::string& way)
        : placement(chunk::Placement::parse(
              "heap 4000; axis sender: item 0x4101 [4]; time: item 0x1600 / 4096 [8]; " + way)),
          layout(placement.check()),
          region(engine.allocate(kChunks * layout.bytes)),
          ring(kChunks),
          present(kChunks, std::vector<std::uint8_t>(layout.present_bytes())),
          window(chunk::ChunkWindowConfig{.chunks = 2}, ring),
          pool(4095, 2048),
          arena(1U << 20, 64U << 10) {
        for (std::size_t i = 0; i < kChunks; i++)
            ring.add(layout, {region->base + i * layout.bytes, layout.bytes}, present[i], {},
                     memory::MemoryKind::device);
        for (std::size_t i = 0; i < lcore_count; i++)
            add_lcore();
    }
    ~GatheredChunks() {
        end();
        EXPECT_EQ(ring.free(), kChunks) << "chunks did not come back";
        EXPECT_TRUE(gave_up || pool.full()) << "packets did not come back";
        for (const auto& l : lcores)
            l->lane->chunks.reset();
    }
    GatheredChunks(const GatheredChunks&) = delete;
    GatheredChunks& operator=(const GatheredChunks&) = delete;

    struct Lcore {
        explicit Lcore(const Pool& pool) : queue(pool) {}

        FakeRx queue;
        Source source;
        std::shared_ptr<Gathering> gathering;
        std::unique_ptr<SpeadLane> lane;
        RxAgent agent;
    };

    void poll() {
        now += 1'000'000;
        for (const auto& l : lcores)
            l->agent.poll(now);
        take();
    }
    /// Polls, and waits for the engine while packets are left, or chunks would run out.
    void poll_while_few_are_free() {
        const auto waits = [](const auto& l) { return l->queue.waiting() != 0; };
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        do {
            ASSERT_LT(std::chrono::steady_clock::now(), limit);
            poll();
        } while (std::any_of(lcores.begin(), lcores.end(), waits) || ring.free() < 2);
    }
    void poll_all() {
        const auto waits = [](const auto& l) { return l->queue.waiting() != 0 || l->agent.is_gathering(); };
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (std::any_of(lcores.begin(), lcores.end(), waits)) {
            ASSERT_LT(std::chrono::steady_clock::now(), limit);
            poll();
            std::this_thread::yield();
        }
    }
    /// Ends all lcores, and takes what they hand over.
    void end() {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        for (bool all = false; !all && std::chrono::steady_clock::now() < limit;) {
            all = true;
            for (const auto& l : lcores)
                all &= l->agent.flush();
            take();
            std::this_thread::yield();
        }
        take();
    }
    /// Takes chunks, compares every heap that they say is present, and gives them back.
    void take() {
        while (chunk::Chunk* const c = ring.take()) {
            taken++;
            packets += c->packets;
            if (c->broken) {
                broken++;
                EXPECT_EQ(c->heaps_present, 0U);
                EXPECT_EQ(std::count(c->present.begin(), c->present.end(), 1), 0);
            }
            std::vector<std::byte> got(kHeap);
            for (std::size_t i = 0; i < kHeaps; i++) {
                if (c->present[i] == 0)
                    continue;
                heaps++;
                engine.fetch(c->data.data() + i * kHeap, got);
                const std::uint64_t time = static_cast<std::uint64_t>(c->id) * kTimes + i % kTimes;
                const MadeHeap made = heap_at(time, i / kTimes);
                std::size_t right = 0;
                while (right < kHeap && static_cast<std::uint8_t>(got[right]) == made.byte(right))
                    right++;
                wrong += right != kHeap;
            }
            EXPECT_TRUE(ring.give_back(*c));
        }
    }
    std::uint64_t count(PacketOutcome outcome) const {
        std::uint64_t all = 0;
        for (const auto& l : lcores)
            all += l->lane->counters[outcome];
        return all;
    }

    gather::FakeEngine engine;
    chunk::Placement placement;
    chunk::Layout layout;
    std::shared_ptr<const memory::Region> region;
    chunk::ChunkRing ring;
    std::vector<std::vector<std::uint8_t>> present;
    chunk::ChunkWindow window;
    Pool pool;
    memory::Arena arena;
    std::vector<std::unique_ptr<Lcore>> lcores;
    std::uint64_t now = 1;
    std::uint64_t taken = 0;
    std::uint64_t broken = 0;
    std::uint64_t packets = 0;  ///< placed, in taken chunks
    std::uint64_t heaps = 0;    ///< present, in taken chunks
    std::uint64_t wrong = 0;    ///< of these
    bool gave_up = false;

  private:
    void add_lcore() {
        Lcore& l = *lcores.emplace_back(std::make_unique<Lcore>(pool));
        const LaneConfig config = lane_config("s0", one_group());
        l.lane = std::make_unique<SpeadLane>(config, heap::PoolPlacer(arena, 0));
        l.lane->chunks = std::make_unique<chunk::ChunkLane>(placement, window, l.lane->counters, false);
        l.gathering = std::make_shared<Gathering>(engine.connect(4));
        l.lane->gather_with(l.gathering);
        l.source.queue = l.queue.queue();
        const std::uint16_t number = l.agent.add_lane(*l.lane);
        EXPECT_TRUE(l.source.classifier.add(config.endpoints[0], {number, 0}));
        l.source.lanes.push_back(number);
        l.source.flows = FlowCache(1);
        l.agent.add_source(l.source);
    }
};

/// Says how packets come.
struct Traffic {
    std::uint64_t chunks;
    bool all_tell;
    unsigned lost = 0;        ///< of 10,000 packets
    std::size_t shuffle = 0;  ///< packets that one may be overtaken by
};

/// Sends to the lcores at random; the packets of a heap to one of them if only its first packet tells.
void send(GatheredChunks& rig, const Traffic& t) {
    std::mt19937 random(11);
    std::vector<std::pair<std::size_t, Bytes>> all;
    for (std::uint64_t time = 0; time < t.chunks * kTimes; time++)
        for (std::uint64_t sender = 0; sender < kSenders; sender++) {
            const std::size_t one = random() % rig.lcores.size();
            for (Bytes& f : packets_of(heap_at(time, sender), t.all_tell))
                if (random() % 10'000 >= t.lost)
                    all.emplace_back(t.all_tell ? random() % rig.lcores.size() : one, std::move(f));
        }
    if (t.shuffle != 0)
        for (std::size_t i = 0; i + t.shuffle < all.size(); i++)
            std::swap(all[i], all[i + random() % t.shuffle]);
    for (std::size_t i = 0; i < all.size(); i++) {
        auto& queue = rig.lcores[all[i].first]->queue;
        if (random() % 5 == 0)
            queue.add(queue.chain(all[i].second, {random() % 200, random() % 300}));
        else
            queue.add(all[i].second);
        if (i % 32 == 31) {
            ASSERT_NO_FATAL_FAILURE(rig.poll_while_few_are_free());
        }
    }
    ASSERT_NO_FATAL_FAILURE(rig.poll_all());
}

TEST(GatherChunks, EveryHeapOfEveryChunkIsThereWhenItIsHandedOver) {
    constexpr std::uint64_t kSent = 60;
    for (const char* const way : {"direct", "tracked", "automatic"})
        for (const std::size_t lcores : {1, 3}) {
            SCOPED_TRACE(std::string(way) + " " + std::to_string(lcores));
            GatheredChunks rig(lcores, way);
            rig.engine.faults().delay_us = 300;
            ASSERT_NO_FATAL_FAILURE(send(rig, {.chunks = kSent, .all_tell = way != std::string("tracked")}));
            rig.end();
            EXPECT_EQ(rig.taken, kSent);
            EXPECT_EQ(rig.wrong, 0U);
            // A lane that knows no packet yet learns nothing from the last one of a heap.
            const std::uint64_t least = kSent * kHeaps - (way == std::string("tracked") ? 0 : lcores);
            EXPECT_GE(rig.heaps, least);
            EXPECT_LE(rig.heaps, kSent * kHeaps);
            EXPECT_EQ(rig.packets, rig.count(PacketOutcome::placed));
            EXPECT_EQ(rig.broken, 0U);
        }
}

TEST(GatherChunks, ShuffledAndLossyPacketsLeaveNoWrongHeap) {
    constexpr std::uint64_t kSent = 200;
    for (const bool all_tell : {true, false}) {
        GatheredChunks rig(3, all_tell ? "direct" : "tracked");
        rig.engine.faults().delay_us = 200;
        ASSERT_NO_FATAL_FAILURE(send(rig, {.chunks = kSent,
                                           .all_tell = all_tell,
                                           .lost = 100,
                                           // Packets before the one that tells are lost by themselves.
                                           .shuffle = all_tell ? 20U : 0U}));
        rig.end();
        EXPECT_EQ(rig.wrong, 0U);
        EXPECT_GT(rig.heaps, kSent * kHeaps / 2);
        EXPECT_LT(rig.heaps, kSent * kHeaps);
        if (all_tell) {
            EXPECT_EQ(rig.packets, rig.count(PacketOutcome::placed));
        }
    }
}

TEST(GatherChunks, AnEngineThatStandsStillKeepsTheChunksItWrites) {
    GatheredChunks rig(2, "direct");
    rig.engine.faults().stalls = true;
    for (std::uint64_t time = 0; time < 6 * kTimes; time++)
        for (const Bytes& f : packets_of(heap_at(time, 0), true))
            rig.lcores[time % 2]->queue.add(f);
    for (int i = 0; i < 50; i++)
        rig.poll();
    EXPECT_EQ(rig.taken, 0U);
    rig.engine.faults().stalls = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_all());
    rig.end();
    EXPECT_GT(rig.taken, 0U);
    EXPECT_EQ(rig.broken + rig.wrong, 0U);
    EXPECT_EQ(rig.packets, rig.count(PacketOutcome::placed));
}

TEST(GatherChunks, AnEngineThatFailsLosesTheChunksItHasNotFilled) {
    for (const char* const way : {"direct", "tracked"}) {
        GatheredChunks rig(2, way);
        rig.engine.faults().fails_after = 100;
        ASSERT_NO_FATAL_FAILURE(send(rig, {.chunks = 100, .all_tell = way != std::string("tracked")}));
        rig.end();
        EXPECT_EQ(rig.wrong, 0U);
        EXPECT_GT(rig.heaps, 0U) << "what was there before is right";
        EXPECT_GT(rig.broken, 0U);
        EXPECT_GT(rig.taken, 90U) << "they go on, and are counted";
    }
}

TEST(GatherChunks, NoChunkOfAFailedEngineComesBackWhileItMayStillWrite) {
    GatheredChunks rig(1, "direct");
    rig.engine.faults().fails_after = 0;
    rig.engine.faults().lingers = true;
    for (std::uint64_t time = 0; time < 20 * kTimes; time++)
        rig.lcores[0]->queue.add(packets_of(heap_at(time, 0), true));
    for (int i = 0; i < 200; i++) {
        rig.poll();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    EXPECT_EQ(rig.taken, 0U);
    EXPECT_GT(rig.count(PacketOutcome::no_chunk), 0U) << "chunks run out meanwhile";
    rig.engine.faults().lingers = false;
    ASSERT_NO_FATAL_FAILURE(rig.poll_all());
    rig.end();
    EXPECT_EQ(rig.taken, rig.broken);
    EXPECT_GT(rig.broken, 0U);
}

}  // namespace
}  // namespace spead::recv::test::gather_chunks_test
