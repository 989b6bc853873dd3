// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/tracked.hpp"
#include "tests/support/heap_packet.hpp"
#include "tests/unit/chunk/ring_rig.hpp"

/// Drives the tracked way as an RX lcore does, with real chunks.
namespace spead::chunk::test {

using heap::test::Packet;

inline heap::WindowConfig tracked_window() {
    heap::WindowConfig c;
    c.max_live = 8;
    c.history_ticks = 1'000'000;
    return c;
}

/// Returns the word of an immediate item.
inline std::uint64_t immediate(std::uint64_t id, std::uint64_t value) {
    return __builtin_bswap64(std::uint64_t{1} << 63 | id << 40 | value);
}

class TrackedRig {
  public:
    struct Sizes {
        std::size_t chunks = 6;
        std::uint32_t window = 3;
        std::uint64_t max_jump = 0;
        std::uint32_t part_bytes = 0;  ///< 0: one part per heap
        bool back_fill = false;
    };

    TrackedRig(HeapMap& map, const Layout& layout, std::uint64_t heap_bytes, const Sizes& sizes,
               const heap::WindowConfig& heaps = tracked_window())
        : chunks(sizes.chunks, layout), window(config(sizes), chunks.ring), member(window) {
        const std::uint32_t part =
            sizes.part_bytes != 0 ? sizes.part_bytes : static_cast<std::uint32_t>(heap_bytes);
        EXPECT_EQ(window.agree_on_parts(part, heap_bytes), part);
        tracked = std::make_unique<Tracked>(heaps, map, part, member, counters);
    }
    ~TrackedRig() { tracked.reset(); }

    static ChunkWindowConfig config(const Sizes& sizes) {
        ChunkWindowConfig c;
        c.chunks = sizes.window;
        c.max_jump = sizes.max_jump;
        c.second_ticks = 1000;
        c.back_fill = sizes.back_fill;
        return c;
    }

    /// Gives the packets of one batch; those that are to be offered again are.
    void batch(const std::vector<Packet>& packets, bool can_wait = false) {
        std::vector<const Packet*> again;
        for (const Packet& p : packets)
            if (offer(p, false, can_wait) == Tracked::Verdict::again)
                again.push_back(&p);
        copy();
        tracked->boundary();
        for (const Packet* const p : again)
            EXPECT_NE(offer(*p, true, false), Tracked::Verdict::again);
        copy();
        tracked->boundary();
        check();
    }
    /// Gives one packet, and returns its outcome; `count_`: it waits.
    PacketOutcome give(const Packet& p, bool can_wait = false) {
        const auto before = counters.packets;
        batch({p}, can_wait);
        for (std::size_t i = 0; i < before.size(); i++)
            if (counters.packets[i] != before[i])
                return static_cast<PacketOutcome>(i);
        return PacketOutcome::count_;
    }

    Tracked::Verdict offer(const Packet& p, bool last_try, bool can_wait) {
        const Tracked::Accepted a = tracked->accept(p.view(), endpoint, last_try, can_wait);
        if (a.verdict == Tracked::Verdict::copy)
            copies_.push_back({a.base, a.offset, p});
        offered_ += a.verdict == Tracked::Verdict::counted || a.verdict == Tracked::Verdict::copy;
        return a.verdict;
    }
    void copy() {
        for (const Copy& c : copies_)
            std::memcpy(*c.base + c.offset + c.packet.view().offset, c.packet.payload().data(),
                        c.packet.payload().size());
        copies_.clear();
    }

    /// Asserts the identities: every packet has one outcome, and every heap that began ended or is live.
    void check() {
        EXPECT_EQ(std::accumulate(counters.packets.begin(), counters.packets.end(), std::uint64_t{0}),
                  offered_);
        const std::uint64_t ended =
            std::accumulate(counters.heaps_ended.begin(), counters.heaps_ended.end(), std::uint64_t{0});
        EXPECT_EQ(counters.heaps_started, ended + counters.heaps_live);
        EXPECT_EQ(ended, counters.heaps_pushed + counters.heaps_waiting);
        EXPECT_EQ(tracked->window().records_out(), counters.heaps_live) << "ended heaps keep no record";
        EXPECT_EQ(tracked->window().books().in_use() == 0 || counters.heaps_live != 0, true);
    }

    /// Ends the run: all chunks are handed over.
    void end() {
        tracked->flush(now);
        check();
        EXPECT_EQ(counters.heaps_live, 0U);
        member.leave();
    }

    RingOfChunks chunks;
    ChunkWindow window;
    Member member;
    stats::StreamCounters counters;
    std::unique_ptr<Tracked> tracked;
    std::uint16_t endpoint = 0;
    std::uint64_t now = 1;

  private:
    struct Copy {
        std::byte* const* base;
        std::uint64_t offset;
        Packet packet;
    };

    std::vector<Copy> copies_;
    std::uint64_t offered_ = 0;
};

}  // namespace spead::chunk::test
