// SPDX-License-Identifier: BSD-3-Clause
/// Tests several lcores that fill one sequence of chunks: shuffled, lossy, doubled traffic with forged times
/// among it, on real threads that pause at any place.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include "base/byte_order.hpp"
#include "chunk/chunk_lane.hpp"
#include "tests/unit/chunk/ring_rig.hpp"
#include "wire/flavour.hpp"

namespace spead::chunk {
namespace {

constexpr std::uint64_t kTimes = 8;    ///< heaps along the time of a chunk
constexpr std::uint64_t kSenders = 3;  ///< the other axis
constexpr std::uint64_t kHeapBytes = 48;
constexpr std::uint64_t kPacketBytes = 16;
constexpr std::uint64_t kParts = kHeapBytes / kPacketBytes;
constexpr std::uint64_t kSamples = 4096;

const char* const kPlacement =
    "heap 48; axis sender: item 0x4101 [3]; time: item 0x1600 / 4096 [8]; presence packet 16; direct";

std::uint8_t byte_of(std::uint64_t time, std::uint64_t sender, std::uint64_t at) {
    const std::uint64_t mixed = (time * 3 + sender) * 0x9E3779B97F4A7C15 + at * 0xC2B2AE3D27D4EB4F;
    return static_cast<std::uint8_t>(mixed >> 56);
}

/// Holds a packet: where it belongs, or a forged time.
struct TestPacket {
    std::uint64_t time = 0;  ///< number of the heap along the time
    std::uint64_t sender = 0;
    std::uint64_t part = 0;
    bool forged = false;
};

/// Makes the view of a packet over words and payload of its own.
class PacketBytes {
  public:
    const heap::PacketView& view(const TestPacket& p) {
        const wire::Flavour flavour(48);
        store_be64(words_.data(), flavour.make_immediate(0x1600, p.time * kSamples));
        store_be64(words_.data() + 8, flavour.make_immediate(0x4101, p.sender));
        for (std::uint64_t i = 0; i < kPacketBytes; i++)
            payload_[i] = byte_of(p.time, p.sender, p.part * kPacketBytes + i);
        view_.key = p.time * kSenders + p.sender;
        view_.heap_length = kHeapBytes;
        view_.offset = p.part * kPacketBytes;
        view_.payload_length = kPacketBytes;
        view_.items = words_.data();
        view_.item_count = 2;
        view_.source = static_cast<std::uint32_t>(0x0A000000 + p.sender);
        view_.arrival = rte_rdtsc();
        view_.flavour = 48;
        view_.flags = heap::PacketView::kItems;
        return view_;
    }
    /// Copies as an lcore does. Two lcores may copy the same bytes to the same place.
    void copy_to(std::byte* to) const {
        for (std::uint64_t i = 0; i < kPacketBytes; i++)
            std::atomic_ref(to[i]).store(static_cast<std::byte>(payload_[i]), std::memory_order_relaxed);
    }

  private:
    std::array<std::uint8_t, 16> words_{};
    std::array<std::uint8_t, kPacketBytes> payload_{};
    heap::PacketView view_;
};

struct Traffic {
    std::uint64_t chunks = 0;
    std::size_t lcores = 4;
    unsigned lost = 5;      ///< per cent
    unsigned doubled = 10;  ///< per cent
    unsigned forged = 50;   ///< per cent
    bool lossless = false;  ///< sources wait for chunks
};

/// Deals the packets of all chunks to the lcores, in an order that is shuffled within a chunk's reach.
std::vector<std::vector<TestPacket>> deal(const Traffic& traffic, std::mt19937_64& random) {
    std::vector<std::vector<TestPacket>> lists(traffic.lcores);
    const auto chance = [&](unsigned per_cent) { return random() % 100 < per_cent; };
    for (std::uint64_t chunk = 0; chunk < traffic.chunks; chunk++) {
        std::vector<TestPacket> packets;
        for (std::uint64_t i = 0; i < kTimes * kSenders * kParts; i++) {
            const TestPacket p{chunk * kTimes + i / kParts % kTimes, i / kParts / kTimes, i % kParts};
            if (!chance(traffic.lost))
                packets.push_back(p);
            if (chance(traffic.doubled))
                packets.push_back(p);
        }
        std::shuffle(packets.begin(), packets.end(), random);
        for (const TestPacket& p : packets) {
            auto& list = lists[random() % traffic.lcores];
            if (!list.empty() && chance(traffic.forged))
                list.push_back({random() >> 20, random() % (kSenders + 1), random() % kParts, true});
            list.push_back(p);
        }
    }
    return lists;
}

/// Runs one lcore: batches of packets, copies at the end of each, pauses anywhere.
class TestLcore {
  public:
    TestLcore(const Placement& placement, ChunkWindow& window, const Traffic& traffic, std::uint64_t seed)
        : lossless_(traffic.lossless),
          lane_(std::make_unique<ChunkLane>(placement, window, counters, traffic.lossless)),
          random_(seed) {}

    void run(const std::vector<TestPacket>& packets, std::vector<std::atomic<std::uint64_t>>& progress,
             std::size_t number) {
        std::size_t at = 0;
        while (at < packets.size()) {
            const std::size_t end = std::min(packets.size(), at + 1 + random_() % kBatch);
            for (; at < end; at++) {
                if (!packets[at].forged)
                    keep_pace(packets[at].time / kTimes, progress, number);
                offer(packets[at]);
            }
            end_batch();
            if (random_() % 64 == 0)
                lane_->offline();
        }
        progress[number] = ~std::uint64_t{0};
        lane_->leave();
    }

    stats::StreamCounters counters;

  private:
    static constexpr std::size_t kBatch = 16;

    struct Staged {
        PacketBytes bytes;
        ChunkLane::Accepted to;
    };

    /// Lets slower lcores come near, most of the time.
    void keep_pace(std::uint64_t chunk, std::vector<std::atomic<std::uint64_t>>& progress,
                   std::size_t number) {
        progress[number].store(chunk, std::memory_order_relaxed);
        const auto is_far_behind = [&](const auto& other) { return other.load() + 1 < chunk; };
        if (!std::any_of(progress.begin(), progress.end(), is_far_behind))
            return;
        end_batch();
        lane_->offline();
        const std::uint64_t patience = random_() % 200;
        for (std::uint64_t i = 0; i < patience; i++) {
            if (!std::any_of(progress.begin(), progress.end(), is_far_behind))
                return;
            std::this_thread::yield();
        }
    }

    void offer(const TestPacket& p) {
        Staged& s = staged_[count_];
        const heap::PacketView& view = s.bytes.view(p);
        for (;;) {
            s.to = lane_->accept(view, 0, false);
            if (s.to.verdict == ChunkLane::Verdict::again && !lossless_) {
                end_batch();
                std::swap(s, staged_[0]);
                staged_[0].to = lane_->accept(staged_[0].bytes.view(p), 0, true);
                count_ = staged_[0].to.verdict == ChunkLane::Verdict::copy ? 1 : 0;
                return;
            }
            if (s.to.verdict == ChunkLane::Verdict::counted)
                return;
            if (s.to.verdict == ChunkLane::Verdict::copy) {
                count_++;
                return;
            }
            const PacketBytes kept = s.bytes;
            end_batch();
            staged_[0].bytes = kept;
            std::this_thread::yield();
            retry(p);
            return;
        }
    }
    /// Offers a packet of a source that waits until it is taken.
    void retry(const TestPacket& p) {
        for (;;) {
            staged_[0].to = lane_->accept(staged_[0].bytes.view(p), 0, false);
            if (staged_[0].to.verdict == ChunkLane::Verdict::counted)
                return;
            if (staged_[0].to.verdict == ChunkLane::Verdict::copy) {
                count_ = 1;
                return;
            }
            lane_->boundary();
            std::this_thread::yield();
        }
    }

    void end_batch() {
        if (random_() % 32 == 0)
            std::this_thread::yield();
        for (std::size_t i = 0; i < count_; i++)
            staged_[i].bytes.copy_to(*staged_[i].to.base + staged_[i].to.offset);
        count_ = 0;
        lane_->boundary();
    }

    bool lossless_;
    std::unique_ptr<ChunkLane> lane_;
    std::mt19937_64 random_;
    std::array<Staged, kBatch + 1> staged_;
    std::size_t count_ = 0;
};

/// Takes chunks and checks every byte of them.
struct TestConsumer {
    void take_all(ChunkRing& ring) {
        while (Chunk* const chunk = ring.take()) {
            check(*chunk);
            EXPECT_TRUE(ring.give_back(*chunk));
        }
    }
    void check(const Chunk& chunk) {
        EXPECT_GT(chunk.id, last);
        last = chunk.id;
        chunks++;
        packets += chunk.packets;
        doubled += chunk.doubled;
        std::uint64_t parts = 0;
        for (std::uint64_t heap = 0; heap < kTimes * kSenders; heap++)
            for (std::uint64_t part = 0; part < kParts; part++) {
                if (chunk.present[heap * kParts + part] == 0)
                    continue;
                parts++;
                const std::uint64_t sender = heap / kTimes;
                const std::uint64_t time = static_cast<std::uint64_t>(chunk.id) * kTimes + heap % kTimes;
                for (std::uint64_t i = part * kPacketBytes; i < (part + 1) * kPacketBytes; i++)
                    wrong += static_cast<std::uint8_t>(chunk.data[heap * kHeapBytes + i]) !=
                             byte_of(time, sender, i);
            }
        present += parts;
        EXPECT_EQ(parts + chunk.doubled, chunk.packets) << "chunk " << chunk.id;
    }

    std::int64_t last = -1;
    std::uint64_t chunks = 0, packets = 0, present = 0, doubled = 0, wrong = 0;
};

struct Result {
    TestConsumer consumer;
    stats::StreamCounters counters;  ///< of all lcores
    std::uint64_t sent = 0;
    std::uint64_t forged = 0;
    std::uint64_t handed_over = 0;
};

Result run(const Traffic& traffic, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Placement placement = Placement::parse(kPlacement);
    const Layout layout = placement.check();
    test::RingOfChunks chunks(6, layout);
    ChunkWindow window({.chunks = 2,
                        .eviction = traffic.lossless ? Eviction::lossless : Eviction::lossy,
                        .max_jump = 16,
                        .second_ticks = rte_get_tsc_hz() == 0 ? 1'000'000'000 : rte_get_tsc_hz()},
                       chunks.ring);
    const auto lists = deal(traffic, random);
    std::vector<std::unique_ptr<TestLcore>> lcores;
    std::vector<std::atomic<std::uint64_t>> progress(traffic.lcores);
    for (std::size_t i = 0; i < traffic.lcores; i++)
        lcores.push_back(std::make_unique<TestLcore>(placement, window, traffic, random()));
    Result result;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < traffic.lcores; i++)
            threads.emplace_back([&, i] { lcores[i]->run(lists[i], progress, i); });
        std::atomic<bool> over{false};
        std::jthread consumer([&] {
            while (!over.load()) {
                chunks.ring.wait(1);
                result.consumer.take_all(chunks.ring);
            }
        });
        threads.clear();
        over = true;
    }
    result.consumer.take_all(chunks.ring);
    for (std::size_t i = 0; i < traffic.lcores; i++) {
        result.sent += lists[i].size();
        result.forged += static_cast<std::uint64_t>(
            std::count_if(lists[i].begin(), lists[i].end(), [](const TestPacket& p) { return p.forged; }));
        for (std::size_t o = 0; o < kPacketOutcomes; o++)
            result.counters.packets[o] += lcores[i]->counters.packets[o];
    }
    result.handed_over = window.counts().handed_over;
    EXPECT_EQ(window.open(), 0u);
    EXPECT_EQ(chunks.ring.free(), 6u);
    return result;
}

void expect_sound(const Result& r) {
    std::uint64_t counted = 0;
    for (const std::uint64_t packets : r.counters.packets)
        counted += packets;
    EXPECT_EQ(counted, r.sent) << "each packet in one counter";
    EXPECT_EQ(r.consumer.wrong, 0u) << "every byte is of its chunk, heap and offset";
    EXPECT_EQ(r.consumer.packets, r.counters[PacketOutcome::placed]);
    EXPECT_EQ(r.consumer.present + r.consumer.doubled, r.counters[PacketOutcome::placed]);
    EXPECT_EQ(r.consumer.chunks, r.handed_over);
}

TEST(ChunkGroup, FourLcoresFillTheSameChunks) {
    for (std::uint64_t seed = 1; seed <= 2; seed++) {
        const Traffic traffic{.chunks = 200};
        const Result r = run(traffic, seed);
        expect_sound(r);
        // Pauses cost packets, which are counted; no chunk is lost while chunks are free.
        if (r.counters[PacketOutcome::no_chunk] == 0) {
            EXPECT_EQ(r.consumer.chunks, traffic.chunks);
        }
    }
}

TEST(ChunkGroup, LosslessSourcesLoseNothing) {
    const Traffic traffic{.chunks = 60, .lcores = 3, .lost = 0, .lossless = true};
    const Result r = run(traffic, 5);
    expect_sound(r);
    EXPECT_EQ(r.counters[PacketOutcome::no_chunk], 0u);
    EXPECT_EQ(r.consumer.present, traffic.chunks * kTimes * kSenders * kParts) << "all good packets";
    EXPECT_EQ(r.consumer.chunks, traffic.chunks);
}

TEST(ChunkGroup, OneLcoreWithAMillionForgedTimesMissesNoChunk) {
    const Traffic traffic{
        .chunks = 6'000, .lcores = 1, .lost = 1, .doubled = 1, .forged = 100, .lossless = true};
    const Result r = run(traffic, 7);
    expect_sound(r);
    EXPECT_GE(r.forged, 400'000u);
    EXPECT_EQ(r.consumer.chunks, traffic.chunks);
    EXPECT_EQ(r.counters[PacketOutcome::future] + r.counters[PacketOutcome::late] +
                  r.counters[PacketOutcome::out_of_range],
              r.forged);
}

}  // namespace
}  // namespace spead::chunk
