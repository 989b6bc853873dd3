// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk/chunk_window.hpp"
#include "chunk/heap_map.hpp"
#include "heap/heap_placer.hpp"
#include "heap/heap_queue.hpp"
#include "heap/window.hpp"
#include "stats/counters.hpp"

namespace spead::chunk {

/// Places the packets of one stream on one lcore into chunks when only some packets of a heap tell where it
/// goes: a window of heaps knows the others.
///
/// The packet that tells may come later than others of its heap: those are lost (`no_item`), and the heap
/// begins with it. If a heap is refused for another reason, its later packets have the same outcome. When a
/// chunk leaves the window, its live heaps are given up, and their later packets are `late`.
class Tracked final : private heap::HeapPlacer {
  public:
    /// Refers to all of them; they outlive it. A heap has a part for each `part_bytes` of it, if its chunk
    /// has several parts per heap. `heaps` bounds the heaps; heaps need no memory but that of their chunks.
    Tracked(heap::WindowConfig heaps, HeapMap& map, std::uint32_t part_bytes, Member& member,
            stats::StreamCounters& counters);

    /// Sets the bytes of a part, before the first packet.
    void set_part_bytes(std::uint32_t bytes) noexcept { part_bytes_ = bytes; }

    /// Says what to do with a packet.
    enum class Verdict : std::uint8_t {
        counted,  ///< nothing: it was counted
        copy,     ///< copy its payload
        again,    ///< offer it again after the next boundary(), as the last try; nothing was counted
        waits,    ///< offer it again later: its source must wait; nothing was counted
    };
    struct Accepted {
        Verdict verdict = Verdict::counted;
        /// Points to an address that is read at copy time: the heap's first byte is `offset` bytes behind it.
        std::byte* const* base = nullptr;
        std::uint64_t offset = 0;
        PacketOutcome outcome = PacketOutcome::placed;  ///< as it was counted
    };
    /// Decides about a packet. `last_try`: `again` is no answer any more. `can_wait`: its source loses
    /// nothing by waiting.
    Accepted accept(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                    bool can_wait) noexcept;

    /// Ends a batch: all copies have been made.
    void boundary() noexcept;
    /// Forgets old heaps, and counts for their chunks what live heaps have. Every few milliseconds, between
    /// batches.
    void expire(std::uint64_t now) noexcept;
    /// Says that the lcore is going to sleep, with no copy outstanding.
    void offline() noexcept;
    /// Ends all live heaps, with no copy outstanding. The member leaves after this.
    void flush(std::uint64_t now) noexcept;

    const heap::Window& window() const noexcept { return window_; }
    bool is_recent(std::uint64_t key) noexcept { return window_.is_recent(key); }
    /// Returns the latencies and gaps of its heaps, in ticks.
    const stats::StreamTimes& heap_times() noexcept { return window_.times(); }
    void forget_peaks() noexcept { window_.forget_peaks(); }

  private:
    /// Holds where a heap lies, by the number of its record, and what of it its chunk's share has.
    struct Spot {
        Chunk* chunk = nullptr;  ///< null: nothing may be written to it any more
        std::int64_t id = 0;
        std::uint64_t first = 0;  ///< number of its first part
        std::uint64_t parts = 1;
        std::uint64_t bytes = 0;
        std::uint32_t packets = 0;
    };

    std::byte* const* accept_whole(const heap::PacketView& view, std::uint16_t endpoint,
                                   std::uint64_t& offset) noexcept;
    Chunk* place_whole(const heap::PacketView& view, const HeapSpot& spot) noexcept;
    void note_source(const heap::PacketView& view) noexcept;
    Answer begin(const heap::PacketView& view, std::uint32_t record) noexcept override;
    void end(const heap::Record& r, std::uint32_t record) noexcept override;
    static std::uint32_t votes_of(const heap::PacketView& view) noexcept;
    bool is_missed(std::uint64_t key) const noexcept;
    Answer missing(Member::Missing why, const heap::PacketView& view) noexcept;
    void look_at_chunks() noexcept;
    void wake() noexcept;
    void account(const heap::Record& r, Spot& spot) noexcept;
    void set_part(Chunk& chunk, std::uint64_t part) noexcept;
    void set_parts(const heap::Record& r, const Spot& spot, std::uint64_t begin, std::uint64_t end) noexcept;
    bool may_note(const heap::PacketView& view) noexcept;
    bool is_pending(std::uint64_t key) const noexcept;
    void forget_pending(std::uint64_t key) noexcept;
    Accepted make_pending(std::uint64_t key) noexcept;

    HeapMap& map_;
    stats::StreamCounters& counters_;
    Member& member_;
    const PacketOutcome repeated_;  ///< of packets that bring nothing new
    std::uint32_t part_bytes_;
    heap::HeapQueue no_queue_;
    heap::Window window_;
    std::vector<Spot> spots_;
    std::uint64_t looked_ = 0;  ///< token of the slots when live heaps were last compared with them
    std::uint32_t pending_count_ = 0;
    std::array<std::uint64_t, heap::kMaxBatch> pending_;  ///< counts of heaps that are offered again
    /// Holds keys of heaps that found the turn taken twice: the latest ones, in a ring. Their packets without
    /// the items are lost for that reason.
    std::array<std::uint64_t, 16> missed_{};
    std::uint64_t missed_count_ = 0;  ///< ever
    // Of the packet being accepted:
    std::uint16_t endpoint_ = 0;
    bool last_try_ = false;
    bool can_wait_ = false;
    bool busy_ = false;
    bool rested_ = false;  ///< the lcore has slept: chunks may have gone without notice
    NoteTurn note_turn_;   ///< of heaps that begin
};

}  // namespace spead::chunk
