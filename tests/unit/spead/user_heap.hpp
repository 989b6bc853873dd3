// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/byte_order.hpp"
#include "heap/window.hpp"
#include "runtime/user_queues.hpp"
#include "spead/heap_loan.hpp"
#include "tests/support/heap_packet.hpp"
#include "wire/flavour.hpp"

/// Makes heaps as a user gets them, with a real window and without EAL.
namespace spead::test {

inline std::uint64_t addressed(std::uint64_t id, std::uint64_t offset) {
    return byte_swap(wire::Flavour(40).make_address(id, offset));
}
inline std::uint64_t immediate(std::uint64_t id, std::uint64_t value) {
    return byte_swap(wire::Flavour(40).make_immediate(id, value));
}

/// Holds a stream on one lcore. It may be destroyed before its heaps.
class HeapMaker {
  public:
    /// Returns the heap that the packets make, complete or incomplete.
    Heap make(const std::vector<heap::test::Packet>& packets) {
        std::vector<std::vector<std::uint8_t>> payloads;
        for (const heap::test::Packet& p : packets)
            payloads.push_back(p.payload());
        return make(packets, payloads);
    }
    /// Returns a heap with these item words (big-endian), and `payload`, in SPEAD-64-40.
    Heap make(std::uint64_t cnt, const std::vector<std::uint64_t>& words,
              const std::vector<std::uint8_t>& payload) {
        heap::test::Packet packet(cnt);
        packet.whole(payload.size()).items(words);
        std::uint64_t extent = 0;
        for (const std::uint64_t word : words)
            if (const std::uint64_t raw = byte_swap(word); !wire::Flavour(40).is_immediate(raw))
                extent = std::max(extent, wire::Flavour(40).value(raw));
        packet.pointing_at(extent);
        return make({packet}, {payload});
    }
    /// Returns the number of heaps that the user has.
    std::size_t out() {
        lane_->window.reclaim();
        return lane_->window.records_out();
    }

  private:
    static heap::WindowConfig config() {
        heap::WindowConfig c;
        c.max_heap_bytes = std::size_t{1} << 20;
        c.history_ticks = 1'000'000;
        return c;
    }
    struct Lane {
        memory::Arena arena{std::size_t{16} << 20, std::size_t{1} << 20};
        stats::StreamCounters counters;
        heap::HeapQueue queue{64, heap::Window::records_needed(config(), 64)};
        heap::Window window{config(), heap::PoolPlacer(arena, arena.capacity()), queue, counters};
    };

    Heap make(const std::vector<heap::test::Packet>& packets,
              const std::vector<std::vector<std::uint8_t>>& payloads) {
        heap::Window& window = lane_->window;
        window.reclaim();
        for (std::size_t i = 0; i < packets.size(); i++) {
            const heap::Window::Accepted a = window.accept(packets[i].view());
            EXPECT_EQ(a.outcome, PacketOutcome::placed);
            if (a.record == nullptr)
                return {};
            if (!payloads[i].empty())
                std::memcpy(a.record->base + packets[i].view().offset, payloads[i].data(),
                            payloads[i].size());
            window.commit();
        }
        window.hand_over(1);
        if (lane_->queue.empty())
            window.flush(1);
        heap::HeapHandle heap = lane_->queue.try_pop();
        EXPECT_TRUE(heap) << "no heap came";
        return door::HeapAccess::make(
            {std::shared_ptr<heap::HeapQueue>(lane_, &lane_->queue), std::move(heap)});
    }

    std::shared_ptr<Lane> lane_ = std::make_shared<Lane>();
};

}  // namespace spead::test
