// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "spead/chunk.hpp"
#include "spead/send.hpp"
#include "tests/eal/spead/recv_rig.hpp"

/// Sends heaps of two polarisations into chunks, and checks these.
namespace spead::test {

constexpr std::uint64_t kHeap = 4096;
constexpr std::uint64_t kStep = 2048;
constexpr std::uint32_t kTimes = 16;
constexpr std::uint64_t kHeaps = std::uint64_t{2} * kTimes;

inline Placement placement() {
    Placement p(kHeap);
    p.axis("polarisation", item(0x3101) & 1, 2)
        .time(item(0x1600) / kStep, kTimes)
        .extra<std::uint16_t>(item(0x3102) >> 8);
    return p;
}

inline std::byte byte_of(std::uint64_t time, std::uint64_t pol, std::uint64_t i) {
    return static_cast<std::byte>((time * 31 + pol * 101 + i * 7 + (i >> 8)) & 0xff);
}

/// Sends heaps of the placement, one at a time.
class ChunkSender {
  public:
    explicit ChunkSender(const Process& process, const std::string& endpoint = "239.1.2.3:7148",
                         const std::string& port = kRing, std::optional<unsigned> lcore = {})
        : stream_(process, {.endpoints = {endpoint}, .interface = port, .lcore = lcore}) {}

    void send(std::uint64_t time, std::uint64_t pol) {
        std::vector<std::byte> payload(kHeap);
        for (std::uint64_t i = 0; i < kHeap; i++)
            payload[i] = byte_of(time, pol, i);
        SendHeap heap;
        heap.repeat_pointers(true);
        heap.add_immediate(0x1600, time * kStep);
        heap.add_immediate(0x3101, pol);
        heap.add_immediate(0x3102, (time & 0xfff) << 8);
        heap.add(0x3300, std::span<const std::byte>(payload));
        stream_.send(heap);
        stream_.wait_for(heap);
    }
    void send_chunks(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t time = first * kTimes; time < (first + count) * kTimes; time++)
            for (const std::uint64_t pol : {0, 1})
                send(time, pol);
    }
    void send_stop() {
        SendHeap heap;
        heap.add_stop();
        stream_.send(heap);
        stream_.wait_for(heap);
    }

  private:
    SendStream stream_;
};

/// Expects every byte of the chunk's heaps.
inline void expect_right(const Chunk& chunk) {
    ASSERT_EQ(chunk.data.size(), kHeaps * kHeap);
    ASSERT_EQ(chunk.present.size(), kHeaps);
    ASSERT_EQ(chunk.extra.size(), kHeaps * 2);
    std::uint64_t here = 0;
    for (std::uint64_t pol = 0; pol < 2; pol++)
        for (std::uint64_t t = 0; t < kTimes; t++) {
            const std::uint64_t heap = pol * kTimes + t;
            if (chunk.present[heap] == 0)
                continue;
            here++;
            const std::uint64_t time = static_cast<std::uint64_t>(chunk.id) * kTimes + t;
            std::uint16_t extra = 0;
            std::memcpy(&extra, &chunk.extra[heap * 2], 2);
            EXPECT_EQ(extra, time & 0xfff);
            for (std::uint64_t i = 0; i < kHeap; i++)
                ASSERT_EQ(chunk.data[heap * kHeap + i], byte_of(time, pol, i))
                    << time << " " << pol << " " << i;
        }
    EXPECT_EQ(here, chunk.heaps_present);
    EXPECT_EQ(chunk.heaps_expected, kHeaps);
}

inline void expect_sums(const ChunkStats& s) {
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate + s.packets_late + s.packets_future +
                             s.packets_no_chunk + s.packets_no_memory + s.packets_filtered + s.packets_held +
                             s.packets_control + s.packets_stopped + s.packets_captured + s.packets_rejected);
    EXPECT_LE(s.chunks_taken, s.chunks_handed_over);
    EXPECT_LE(s.chunks_handed_over, s.chunks_opened);
}

inline RecvConfig chunk_config() {
    RecvConfig c = ring_config();
    c.stop_on_stop_item = true;
    return c;
}

}  // namespace spead::test
