// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
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

/// Runs several lcores, as threads, that fill one sequence of chunks.
namespace spead::chunk::group {

inline constexpr std::uint64_t kTimes = 8;    ///< heaps along the time of a chunk
inline constexpr std::uint64_t kSenders = 3;  ///< the other axis
inline constexpr std::uint64_t kHeapBytes = 48;
inline constexpr std::uint64_t kPacketBytes = 16;
inline constexpr std::uint64_t kParts = kHeapBytes / kPacketBytes;
inline constexpr std::uint64_t kSamples = 4096;

inline const char* const kPlacement =
    "heap 48; axis sender: item 0x4101 [3]; time: item 0x1600 / 4096 [8]; presence packet 16; direct";

inline std::uint8_t byte_of(std::uint64_t time, std::uint64_t sender, std::uint64_t at) {
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
    unsigned lost = 5;            ///< per cent
    unsigned doubled = 10;        ///< per cent
    unsigned forged = 1;          ///< packets before each good one
    bool lossless = false;        ///< sources wait for chunks
    bool stalls = false;          ///< the last lcore stalls until the others have finished
    std::size_t ring = 6;         ///< chunks in the ring
    std::uint64_t max_jump = 16;  ///< of the window
};

/// Holds the packets of each lcore.
struct Deal {
    std::vector<std::vector<TestPacket>> lists;
    std::uint64_t distinct = 0;  ///< good packets, each counted once
    std::uint64_t sent = 0;
    std::uint64_t forged = 0;
};

/// Deals the packets of all chunks to the lcores, in an order that is shuffled within a chunk's reach.
inline Deal deal(const Traffic& traffic, std::mt19937_64& random) {
    Deal deal;
    deal.lists.resize(traffic.lcores);
    const auto chance = [&](unsigned per_cent) { return random() % 100 < per_cent; };
    for (std::uint64_t chunk = 0; chunk < traffic.chunks; chunk++) {
        std::vector<TestPacket> packets;
        for (std::uint64_t i = 0; i < kTimes * kSenders * kParts; i++) {
            const TestPacket p{chunk * kTimes + i / kParts % kTimes, i / kParts / kTimes, i % kParts};
            const std::size_t before = packets.size();
            if (!chance(traffic.lost))
                packets.push_back(p);
            if (chance(traffic.doubled))
                packets.push_back(p);
            deal.distinct += packets.size() != before;
        }
        std::shuffle(packets.begin(), packets.end(), random);
        for (const TestPacket& p : packets) {
            auto& list = deal.lists[random() % traffic.lcores];
            const unsigned forged = list.empty() ? 0 : traffic.forged;
            for (unsigned i = 0; i < forged; i++)
                list.push_back({random() >> 20, random() % (kSenders + 1), random() % kParts, true});
            list.push_back(p);
            deal.forged += forged;
            deal.sent += forged + 1;
        }
    }
    return deal;
}

/// Says how far each lcore is.
struct Progress {
    explicit Progress(std::size_t lcores) : chunks(lcores) {}

    static constexpr std::uint64_t kOver = ~std::uint64_t{0};
    std::vector<std::atomic<std::uint64_t>> chunks;  ///< kOver: nobody waits for it
    std::atomic<std::size_t> finished{0};
};

/// Runs one lcore: batches of packets, copies at the end of each, pauses anywhere.
class TestLcore {
  public:
    TestLcore(const Placement& placement, ChunkWindow& window, const Traffic& traffic, std::uint64_t seed)
        : traffic_(traffic),
          lane_(std::make_unique<ChunkLane>(placement, window, counters, traffic.lossless)),
          random_(seed) {}

    void run(const std::vector<TestPacket>& packets, Progress& progress, std::size_t number) {
        const bool stalls = traffic_.stalls && number + 1 == traffic_.lcores;
        std::size_t at = 0;
        while (at < packets.size()) {
            const std::size_t end = std::min(packets.size(), at + 1 + random_() % kBatch);
            for (; at < end; at++) {
                if (!packets[at].forged)
                    keep_pace(packets[at].time / kTimes, progress, number);
                offer(packets[at]);
            }
            if (stalls && at > packets.size() / 8 && count_ != 0 && !has_stalled_)
                stall(progress, number);
            end_batch();
            if (random_() % 64 == 0)
                lane_->offline();
        }
        progress.chunks[number] = Progress::kOver;
        lane_->leave();
        progress.finished++;
        progress.finished.notify_all();
    }

    stats::StreamCounters counters;
    std::uint64_t forged_late = 0;  ///< of counters[late]: packets with forged times

  private:
    static constexpr std::uint64_t kPause = 1024;  ///< batches between two pauses, on average
    static constexpr std::size_t kBatch = 16;

    struct Staged {
        PacketBytes bytes;
        ChunkLane::Accepted to;
    };

    /// Lets slower lcores come near, most of the time.
    void keep_pace(std::uint64_t chunk, Progress& all, std::size_t number) {
        auto& progress = all.chunks;
        if (progress[number].load(std::memory_order_relaxed) != Progress::kOver)
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

    /// Loses the CPU with copies outstanding, until all others have finished.
    void stall(Progress& progress, std::size_t number) {
        has_stalled_ = true;
        progress.chunks[number] = Progress::kOver;
        for (std::size_t n = progress.finished; n + 1 < traffic_.lcores; n = progress.finished)
            progress.finished.wait(n);
    }

    void offer(const TestPacket& p) {
        const std::uint64_t late = counters[PacketOutcome::late];
        offer_any(p);
        forged_late += p.forged ? counters[PacketOutcome::late] - late : 0;
    }
    void offer_any(const TestPacket& p) {
        Staged& s = staged_[count_];
        const heap::PacketView& view = s.bytes.view(p);
        for (;;) {
            s.to = lane_->accept(view, 0, false);
            if (s.to.verdict == ChunkLane::Verdict::again && !traffic_.lossless) {
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
        // An lcore may lose its CPU between its decisions and its copies.
        if (random_() % kPause == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1 + random_() % 20));
        for (std::size_t i = 0; i < count_; i++)
            staged_[i].bytes.copy_to(*staged_[i].to.base + staged_[i].to.offset);
        count_ = 0;
        lane_->boundary();
    }

    const Traffic traffic_;
    std::unique_ptr<ChunkLane> lane_;
    std::mt19937_64 random_;
    std::array<Staged, kBatch + 1> staged_;
    std::size_t count_ = 0;
    bool has_stalled_ = false;
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
    /// Returns the good packets that had no place, late or without a chunk.
    std::uint64_t missed() const {
        return counters[PacketOutcome::late] - forged_late + counters[PacketOutcome::no_chunk];
    }

    TestConsumer consumer;
    stats::StreamCounters counters;  ///< of all lcores
    std::uint64_t distinct = 0;
    std::uint64_t sent = 0;
    std::uint64_t forged = 0;
    std::uint64_t forged_late = 0;
    std::uint64_t handed_over = 0;
    std::uint64_t short_of = 0;
    std::uint64_t resyncs = 0;
};

inline ChunkWindowConfig window_config(const Traffic& traffic) {
    const std::uint64_t hz = rte_get_tsc_hz();
    return {.chunks = 2,
            .eviction = traffic.lossless ? Eviction::lossless : Eviction::lossy,
            .max_jump = traffic.max_jump,
            .second_ticks = hz == 0 ? 1'000'000'000 : hz};
}

inline Result run(const Traffic& traffic, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Placement placement = Placement::parse(kPlacement);
    test::RingOfChunks chunks(traffic.ring, placement.check());
    ChunkWindow window(window_config(traffic), chunks.ring);
    const Deal dealt = deal(traffic, random);
    std::vector<std::unique_ptr<TestLcore>> lcores;
    Progress progress(traffic.lcores);
    for (std::size_t i = 0; i < traffic.lcores; i++)
        lcores.push_back(std::make_unique<TestLcore>(placement, window, traffic, random()));
    Result result;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < traffic.lcores; i++)
            threads.emplace_back([&, i] { lcores[i]->run(dealt.lists[i], progress, i); });
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
    for (const auto& lcore : lcores) {
        for (std::size_t o = 0; o < kPacketOutcomes; o++)
            result.counters.packets[o] += lcore->counters.packets[o];
        result.forged_late += lcore->forged_late;
    }
    result.distinct = dealt.distinct;
    result.sent = dealt.sent;
    result.forged = dealt.forged;
    result.handed_over = window.counts().handed_over;
    result.short_of = window.counts().short_of;
    result.resyncs = window.counts().resyncs;
    EXPECT_EQ(window.open(), 0u);
    EXPECT_EQ(chunks.ring.free(), traffic.ring);
    return result;
}

inline void expect_sound(const Result& r) {
    std::uint64_t counted = 0;
    for (const std::uint64_t packets : r.counters.packets)
        counted += packets;
    EXPECT_EQ(counted, r.sent) << "each packet in one counter";
    EXPECT_EQ(r.consumer.wrong, 0u) << "every byte is of its chunk, heap and offset";
    EXPECT_EQ(r.consumer.packets, r.counters[PacketOutcome::placed]);
    EXPECT_EQ(r.consumer.present + r.consumer.doubled, r.counters[PacketOutcome::placed]);
    EXPECT_EQ(r.consumer.chunks, r.handed_over);
    EXPECT_EQ(r.resyncs, 0u) << "forged times move nothing";
    EXPECT_EQ(r.counters[PacketOutcome::future] + r.counters[PacketOutcome::out_of_range] + r.forged_late,
              r.forged);
    EXPECT_EQ(r.counters[PacketOutcome::placed] + r.counters[PacketOutcome::duplicate] + r.missed(),
              r.sent - r.forged)
        << "good packets are placed, there already, late, or without a chunk";
    EXPECT_LE(r.distinct - r.consumer.present, r.missed()) << "what is not present was counted";
}

}  // namespace spead::chunk::group
