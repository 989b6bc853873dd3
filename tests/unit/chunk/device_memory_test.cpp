// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <memory>
#include <random>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/chunk_lane.hpp"
#include "tests/unit/chunk/tracked_rig.hpp"

/// Tests chunks of memory that the CPU must not touch: whichever way packets are placed, any touch is a
/// fault. Only presence, extra values and books are written.
namespace spead::chunk::test {
namespace {

using enum PacketOutcome;

constexpr std::uint64_t kDeviceHeap = 2048;  ///< bytes
constexpr std::uint64_t kDeviceHeaps = 4;    ///< of a chunk
constexpr std::uint64_t kPart = 512;         ///< payload of a packet
constexpr std::size_t kRoom = std::size_t{1} << 16;

/// Holds a ring of chunks whose payload faults.
class DeviceChunks {
  public:
    explicit DeviceChunks(const Layout& layout)
        : device_(mmap(nullptr, kCount * kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
          present_(kCount, std::vector<std::uint8_t>(layout.present_bytes())),
          extra_(kCount, std::vector<std::byte>(layout.heaps * layout.extra_bytes)),
          ring(kCount) {
        EXPECT_NE(device_, MAP_FAILED);
        for (std::size_t i = 0; i < kCount; i++)
            ring.add(layout, {static_cast<std::byte*>(device_) + i * kRoom, kRoom}, present_[i], extra_[i],
                     MemoryKind::device);
    }
    ~DeviceChunks() { munmap(device_, kCount * kRoom); }
    DeviceChunks(const DeviceChunks&) = delete;
    DeviceChunks& operator=(const DeviceChunks&) = delete;

    bool holds(const std::byte* at, std::size_t length) const {
        const auto* const base = static_cast<const std::byte*>(device_);
        return at >= base && at + length <= base + kCount * kRoom;
    }

  private:
    static constexpr std::size_t kCount = 3;
    void* device_;
    std::vector<std::vector<std::uint8_t>> present_;
    std::vector<std::vector<std::byte>> extra_;

  public:
    ChunkRing ring;
};

Packet tagged(std::uint64_t n, std::uint64_t at, bool tells) {
    Packet p(n);
    p.of(kDeviceHeap).at(at, kPart).time(n + 1);
    if (tells)
        p.items({immediate(0x1600, n), immediate(0x3102, n + 7)});
    return p;
}

/// Gives many chunks' packets in random order, with loss and repeats; nobody copies.
void fill(DeviceChunks& chunks, ChunkLane& lane, stats::StreamCounters& counters, bool all_tell) {
    constexpr std::uint64_t kHeapsSent = 400;
    std::mt19937_64 random(3);
    std::vector<Packet> packets;
    for (std::uint64_t n = 0; n < kHeapsSent; n++)
        for (std::uint64_t at = 0; at < kDeviceHeap; at += kPart) {
            if (random() % 50 != 0)
                packets.push_back(tagged(n, at, all_tell || at == 0));
            if (random() % 20 == 0)
                packets.push_back(tagged(n, at, all_tell || at == 0));
        }
    for (std::size_t i = 0; i + 8 < packets.size(); i++)
        std::swap(packets[i], packets[i + random() % 8]);
    std::uint64_t taken = 0;
    std::uint64_t bytes = 0;
    std::uint64_t copied = counters.bytes;
    const auto take = [&] {
        while (Chunk* const chunk = chunks.ring.take()) {
            EXPECT_EQ(chunk->kind, MemoryKind::device);
            EXPECT_FALSE(memory::cpu_accessible(chunk->kind));
            taken++;
            bytes += chunk->bytes;
            if (chunk->complete()) {
                std::uint16_t value = 0;
                std::memcpy(&value, chunk->extra.data(), 2);
                EXPECT_EQ(value, static_cast<std::uint64_t>(chunk->id) * kDeviceHeaps + 7);
            }
            EXPECT_TRUE(chunks.ring.give_back(*chunk));
        }
    };
    for (std::size_t i = 0; i < packets.size(); i++) {
        const heap::PacketView& v = packets[i].view();
        ChunkLane::Accepted a = lane.accept(v, 0, false);
        if (a.verdict == ChunkLane::Verdict::again) {
            lane.boundary();
            a = lane.accept(v, 0, true);
        }
        if (a.verdict == ChunkLane::Verdict::copy) {
            EXPECT_TRUE(chunks.holds(*a.base + a.offset, v.payload_length));
            copied += v.payload_length;
        }
        if (random() % 16 == 0) {
            lane.boundary();
            take();
        }
        if (random() % 200 == 0)
            lane.expire(v.arrival);
        if (random() % 300 == 0)
            lane.offline();
    }
    lane.boundary();
    lane.leave();
    take();
    EXPECT_GT(taken, kHeapsSent / kDeviceHeaps / 2);
    EXPECT_EQ(bytes, counters.bytes);
    EXPECT_EQ(copied, counters.bytes);
    EXPECT_GT(counters[placed], packets.size() / 2);
}

class DeclaredWay : public ::testing::TestWithParam<const char*> {};

TEST_P(DeclaredWay, NeverTouchesThePayload) {
    for (const bool by_packet : {false, true}) {
        const Placement placement =
            Placement::parse(std::string("heap 2048; time: item 0x1600 [4]; extra u16: item 0x3102") +
                             (by_packet ? "; presence packet 512" : "") + GetParam());
        DeviceChunks chunks(placement.check());
        ChunkWindow window(TrackedRig::config({.window = 2}), chunks.ring);
        stats::StreamCounters counters;
        ChunkLane lane(placement, window, counters, false, tracked_window());
        fill(chunks, lane, counters, placement.way != Way::tracked);
        EXPECT_EQ(lane.tracks(), placement.way == Way::tracked);
    }
}

INSTANTIATE_TEST_SUITE_P(Ways, DeclaredWay, ::testing::Values("; direct", "; tracked", ""));

TEST(DeviceMemory, IsNotTouchedWhenALaneGoesOverToTheTrackedWay) {
    const Placement placement = Placement::parse("heap 2048; time: item 0x1600 [4]; extra u16: item 0x3102");
    DeviceChunks chunks(placement.check());
    ChunkWindow window(TrackedRig::config({.window = 2}), chunks.ring);
    stats::StreamCounters counters;
    ChunkLane lane(placement, window, counters, false, tracked_window());
    EXPECT_EQ(lane.accept(tagged(0, 0, true).view(), 0, true).verdict, ChunkLane::Verdict::copy);
    EXPECT_EQ(lane.accept(tagged(0, kPart, false).view(), 0, true).verdict, ChunkLane::Verdict::counted);
    EXPECT_TRUE(lane.tracks());
    lane.boundary();
    fill(chunks, lane, counters, false);
}

/// Places heaps as the placements do.
void place_in_order(void*, std::span<const HeapStart> starts, std::span<ChunkPlace> places) noexcept {
    for (std::size_t i = 0; i < starts.size(); i++) {
        const auto n = static_cast<std::uint64_t>(starts[i].values[0]);
        places[i].chunk = starts[i].values[0] < 0 ? -1 : static_cast<std::int64_t>(n / kDeviceHeaps);
        places[i].heap = n % kDeviceHeaps;
        places[i].offset = n % kDeviceHeaps * kDeviceHeap;
        const auto value = static_cast<std::uint16_t>(n + 7);
        std::memcpy(places[i].extra, &value, 2);
        places[i].extra_at = n % kDeviceHeaps * 2;
        places[i].extra_size = 2;
    }
}

TEST(DeviceMemory, IsNotTouchedWhereACallbackPlacesHeaps) {
    const PlaceCallback callback{.function = place_in_order,
                                 .items = {0x1600},
                                 .heaps = kDeviceHeaps,
                                 .bytes = kDeviceHeaps * kDeviceHeap,
                                 .extra_bytes = 2 * kDeviceHeaps,
                                 .most_extra = 2};
    DeviceChunks chunks(callback.layout());
    ChunkWindow window(TrackedRig::config({.window = 2}), chunks.ring);
    stats::StreamCounters counters;
    ChunkLane lane(callback, window, counters, false, tracked_window());
    // It rejects heaps for good whose first packet tells nothing.
    fill(chunks, lane, counters, true);
    EXPECT_GT(counters.callback.heaps, 300U);
}

}  // namespace
}  // namespace spead::chunk::test
