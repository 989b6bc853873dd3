// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "chunk/callback.hpp"
#include "chunk/chunk_window.hpp"
#include "chunk/direct_run.hpp"
#include "chunk/heap_map.hpp"
#include "chunk/placer.hpp"
#include "chunk/tracked.hpp"
#include "heap/packet_view.hpp"
#include "memory/copy.hpp"
#include "stats/counters.hpp"

namespace spead::chunk {

/// Places the packets of one stream on one lcore into chunks. Takes the place of the window and queue of
/// heaps. In the direct way each packet tells where it goes; in the tracked way the first of each heap does.
///
/// accept() decides and counts; the caller copies the payload until the next boundary().
class ChunkLane {
  public:
    /// Refers to the window and the counters, which outlive the lane. `can_wait`: its source loses nothing by
    /// waiting. `heaps` bounds the live and remembered heaps of the tracked way. If the placement leaves the
    /// way open, the lane begins with the direct one, and goes over to the other with the first packet that
    /// does not tell. Throws UsageError, Error. Control code.
    ChunkLane(const Placement& placement, ChunkWindow& window, stats::StreamCounters& counters, bool can_wait,
              const heap::WindowConfig& heaps = {});
    /// Does so with a user's callback, always in the tracked way. Its counts are those of `counters`.
    ChunkLane(const PlaceCallback& callback, ChunkWindow& window, stats::StreamCounters& counters,
              bool can_wait, const heap::WindowConfig& heaps = {});

    /// Says what to do with a packet: copy its payload to `base` + `offset`, by rows if the placement has
    /// them, or something else.
    using Verdict = Tracked::Verdict;
    struct Accepted {
        Verdict verdict = Verdict::counted;
        /// Points to the address of the chunk's first byte. Set too when a packet of the direct way brings
        /// nothing new, with `offset`: they say which packet it repeats.
        std::byte* const* base = nullptr;
        std::uint64_t offset = 0;  ///< of the packet's first byte; with rows, of the heap's first byte
        PacketOutcome outcome = PacketOutcome::placed;  ///< as it was counted
    };
    /// Decides about a packet. view.arrival and view.source are set. `last_try`: `again` is no answer any
    /// more.
    Accepted accept(const heap::PacketView& view, std::uint16_t endpoint, bool last_try) noexcept {
        return accept(view, endpoint, last_try, can_wait_);
    }
    /// Does accept() for a packet that can wait no longer: neither `again` nor `waits` is an answer.
    Accepted accept_now(const heap::PacketView& view, std::uint16_t endpoint) noexcept {
        return accept(view, endpoint, true, false);
    }

    /// Accepts a packet that goes on like the one before, as most do. Returns the address of its chunk's
    /// first byte, and sets the payload's offset: it is to be copied there in one piece. Null: nothing was
    /// done, and accept() decides. view.source need not be set if notes_sources() is false.
    [[gnu::always_inline]] std::byte* const* accept_next(const heap::PacketView& view,
                                                         std::uint64_t& offset) noexcept {
        if (!run_.goes_on(member_.token())) [[unlikely]]
            return nullptr;
        std::byte* const* const base = run_.next(view, offset);
        if (base == nullptr) [[unlikely]]
            return nullptr;
        member_.used_again();
        note_turn_.pass();
        counters_[PacketOutcome::placed]++;
        counters_.bytes += view.payload_length;
        return base;
    }
    /// Returns whether the next packet's source is to be noted, by accept().
    bool notes_sources() const noexcept { return note_turn_.is_due(); }

    /// Ends a batch: no copy is outstanding.
    void boundary() noexcept {
        if (tracks_)
            tracked_->boundary();
        else
            member_.boundary();
        note_turn_.begin_batch();
        if (stopped_ && member_.settled()) [[unlikely]]
            leave();
    }
    void expire(std::uint64_t now) noexcept {
        if (tracks_)
            tracked_->expire(now);
        member_.expire(now);
    }
    /// Returns whether no copy is outstanding (Member::may_rest).
    bool may_rest() const noexcept { return member_.may_rest(); }
    void offline() noexcept {
        if (tracks_)
            tracked_->offline();
        else
            member_.offline();
    }
    /// Leaves the copies to an engine (Member::copied_by). Before the first packet.
    void copied_by(const heap::Tickets& tickets) noexcept { member_.copied_by(tickets); }
    /// Returns whether it may leave, with no packets to come (Member::settled).
    bool settled() noexcept { return member_.settled(); }
    /// Ends the run for this lane: no packets come any more, no copy is outstanding, and it is settled.
    void leave() noexcept {
        if (tracks_)
            tracked_->flush(0);
        member_.leave();
    }
    /// Returns whether it has left.
    bool has_left() const noexcept { return member_.has_left(); }
    /// Accepts no more packets: they count as `stopped`.
    void stop() noexcept {
        stopped_ = true;
        run_.end();
    }
    bool stopped() const noexcept { return stopped_; }
    /// Returns whether waiting may help: chunks are on their way back, or another lcore is to pass one.
    bool comes_back() const noexcept;
    /// Returns whether its source is paused until a chunk is free, or until other lcores have passed one.
    bool can_wait() const noexcept { return can_wait_; }

    const Rows& rows() const noexcept { return rows_; }
    /// Returns the bytes of all chunks that it fills in turn.
    std::size_t memory() noexcept { return window().ring().bytes(); }
    /// Returns the latencies and gaps of tracked heaps, in ticks; null: the lane never tracks.
    const stats::StreamTimes* heap_times() noexcept { return tracked_ ? &tracked_->heap_times() : nullptr; }
    void forget_peaks() noexcept {
        if (tracked_)
            tracked_->forget_peaks();
    }
    /// Returns whether a heap of the tracked way is live, or among the latest that ended. Those of the direct
    /// way are in an open chunk.
    bool is_recent(std::uint64_t key) noexcept { return !tracks_ || tracked_->is_recent(key); }
    /// Returns whether the lane goes the tracked way.
    bool tracks() const noexcept { return tracks_; }
    ChunkWindow& window() noexcept { return member_.window(); }

  private:
    Accepted accept(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                    bool can_wait) noexcept;
    Accepted accept_anew(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                         bool can_wait) noexcept;
    Accepted refuse(PacketOutcome outcome) noexcept;
    Accepted control(const heap::PacketView& view) noexcept;
    Accepted missing(Member::Missing why, std::uint32_t source, bool last_try, bool can_wait) noexcept;
    Accepted odd(const heap::PacketView& view) noexcept;
    std::uint64_t first_time_of(std::int64_t id) const noexcept {
        return static_cast<std::uint64_t>(id) * times_;
    }
    std::uint64_t unwrap(std::uint64_t time) const noexcept;
    Placer::Time time_of(const Place& place) const noexcept;
    bool was_before(std::int64_t id, std::uint64_t place) const noexcept;
    void follow() noexcept;
    Accepted accept_tracked(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                            bool can_wait) noexcept;
    void go_over(const heap::PacketView& view) noexcept;
    void note_way() noexcept;
    void begin_run(const heap::PacketView& view, Chunk& chunk, const Placer::Time& time) noexcept;
    void learn_part(std::uint32_t bytes) noexcept;
    bool has_few_parts(const heap::PacketView& view) const noexcept;
    bool part_of(const heap::PacketView& view, std::uint64_t& part) noexcept;
    void store_extras(const heap::PacketView& view, std::uint16_t endpoint, std::byte* to) noexcept;

    /// Finds the spots of heaps by the declared placement.
    class Declared final : public HeapMap {
      public:
        explicit Declared(ChunkLane& lane) : lane_(lane) {}
        PacketOutcome find(const heap::PacketView& view, std::uint16_t endpoint,
                           HeapSpot& spot) noexcept override;
        bool note(const heap::PacketView&, std::uint16_t) noexcept override { return false; }

      private:
        ChunkLane& lane_;
        std::array<std::byte, Placement::kMaxExtras * 8> extras_;
    };

    DirectRun run_;
    std::optional<Placer> placer_;  ///< none: there is a callback
    Rows rows_;
    Member member_;
    std::unique_ptr<CallbackMap> callback_;  ///< null: the placement is declared
    std::unique_ptr<Declared> declared_;
    std::unique_ptr<Tracked> tracked_;  ///< null: never
    stats::StreamCounters& counters_;
    std::uint64_t heap_bytes_;
    std::uint64_t times_;               ///< of a chunk
    bool has_own_places_ = true;        ///< it has several heaps of a time: each sender has others, as a rule
    std::uint32_t part_bytes_;          ///< payload of a packet but a heap's last; 0: not known yet
    std::uint32_t parts_per_heap_ = 1;  ///< by part_bytes_
    std::int64_t followed_ = -1;        ///< id of the newest chunk that the placer was told of
    std::uint64_t newest_time_ = 0;     ///< its first time number
    std::uint64_t newest_on_wire_ = 0;  ///< the same, wrapped
    const PacketOutcome repeated_;      ///< of packets that bring nothing new
    bool can_wait_;
    bool tracks_ = false;
    bool is_direct_ = false;  ///< a packet beyond its heap's first was placed by itself
    bool stopped_ = false;
    NoteTurn note_turn_;  ///< on if packets far from the window vote
};

/// Copies part of a heap whose payload lies in rows: `length` bytes from `from`, which are at `at` in the
/// heap. `first` is the place of the heap's first byte.
void copy_rows(const memory::PayloadCopy& copy, std::byte* first, const Rows& rows, std::uint64_t at,
               const std::uint8_t* from, std::size_t length) noexcept;

}  // namespace spead::chunk
