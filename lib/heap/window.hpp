// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/byte_order.hpp"
#include "base/outcome.hpp"
#include "heap/books.hpp"
#include "heap/heap_placer.hpp"
#include "heap/heap_queue.hpp"
#include "heap/history.hpp"
#include "heap/item_words.hpp"
#include "heap/key_table.hpp"
#include "heap/packet_view.hpp"
#include "heap/places.hpp"
#include "heap/pool_placer.hpp"
#include "heap/record.hpp"
#include "heap/room.hpp"
#include "heap/suspects.hpp"
#include "heap/tickets.hpp"
#include "heap/window_config.hpp"
#include "stats/counters.hpp"
#include "stats/stream_times.hpp"

namespace spead::heap {

class LentPackets;

/// Holds the live heaps of one stream on one lcore: packets in, heaps out.
///
/// Works in two steps. accept() decides a packet's outcome and, for `placed`, the place of its payload. The
/// caller copies, and calls commit(); or an engine copies later (copied_by). A heap that ends, for any
/// reason, is handed over, and its memory reused, only when all copies into it have been made (Tickets). All
/// functions belong to the owning lcore; none allocates, locks, throws or waits. At most kMaxBatch packets
/// may be accepted between two commits.
class Window {
  public:
    static constexpr std::size_t kMaxBatch = heap::kMaxBatch;
    /// Limits the packets of a ghost, a heap that is given up with so few: most likely its count was forged
    /// or stray.
    static constexpr std::uint32_t kGhostPackets = 2;
    /// Holds the part of its packets, one in so many, from which on a heap with so few is none for reports:
    /// the others were lost.
    static constexpr std::uint64_t kGhostPart = 4;
    /// Means no outcome yet: there is no room for the packet, and the stream may not lose it (on_full =
    /// block). Nothing was done or counted. Ask again later. Call accept_now() once no window of the arena
    /// has heaps elsewhere, since nothing comes back then.
    static constexpr PacketOutcome kWait = PacketOutcome::count_;

    /// Returns how many records (heaps outside the free pool) a configuration needs: live, queued, in the
    /// consumer's hands.
    static std::size_t records_needed(const WindowConfig& config, std::size_t queue_heaps);
    /// Returns the bytes of tables and records, for the plan.
    static std::size_t bookkeeping_bytes(const WindowConfig& config, std::size_t queue_heaps);

    /// Refers to `queue`, `counters` and the placer's arena, which outlive the window. The queue was made for
    /// records_needed() records.
    Window(const WindowConfig& config, PoolPlacer placer, HeapQueue& queue, stats::StreamCounters& counters);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    /// Makes a window whose heaps go where `heap_placer` says, which outlives the window. They are in no
    /// queue, and count as handed over when their records are free. Nothing but a refused packet's heap waits
    /// for room.
    Window(const WindowConfig& config, HeapPlacer& heap_placer, HeapQueue& queue,
           stats::StreamCounters& counters)
        : Window(config, PoolPlacer(), queue, counters) {
        heap_placer_ = &heap_placer;
        whole_most_ = config_.max_heap_bytes;
    }

    struct Accepted {
        PacketOutcome outcome;
        Record*
            record;  ///< for `placed`: payload byte i goes to record->base + offset + i, read at copy time
    };

    /// Counts the packet in its outcome, unless it has to wait (kWait).
    Accepted accept(const PacketView& v) noexcept {
        const Accepted a = decide(v);
        if (a.outcome != kWait) [[likely]]
            counters_[a.outcome]++;
        else
            has_waited_ = true;
        return a;
    }
    /// Returns whether a packet has had to wait for room since the last call.
    bool has_waited() noexcept { return std::exchange(has_waited_, false); }

    /// Returns how many live heaps ended because others needed their room.
    std::uint64_t evicted_for_room() const noexcept { return evicted_for_room_; }

    /// Does accept() for a packet that cannot wait any longer.
    Accepted accept_now(const PacketView& v) noexcept {
        waits_ = false;
        const Accepted a = accept(v);
        waits_ = config_.on_full == FullPolicy::block;
        return a;
    }

    /// Does accept() for the usual packet: the next bytes of a live heap, not its last, with nothing else
    /// new. Returns null when nothing was done: call accept().
    [[gnu::always_inline]] Record* accept_next(const PacketView& v) noexcept {
        Record* r = last_record_;
        if (r == nullptr || v.key != last_key_) {
            // A stop, and doubt, forget the last record, so that they are seen here.
            const KeyTable::Entry* const entry = table_.find(v.key);
            if (entry == nullptr || entry->state != KeyTable::State::live || stopped_ || doubts_ != 0)
                return nullptr;
            r = &records_[entry->record];
            last_key_ = v.key;
            last_record_ = r;
        }
        const std::uint64_t end = v.offset + v.payload_length;
        // A heap of unknown length ends where its block does: accept() looks at that.
        if (v.heap_length != r->length || end >= r->length || r->length == kUnknownLength ||
            v.payload_length == 0 || !r->coverage.is_next(v.offset) || v.flavour != r->flavour ||
            v.item_count > Record::kInlineItems || v.item_count > r->item_count ||
            (v.flags & PacketView::kControl) != 0)
            return nullptr;
        for (std::uint32_t i = 0; i < v.item_count; i++)
            if (load_be64(v.items + std::size_t{i} * 8) != byte_swap(r->items[i]))
                return nullptr;
        r->coverage.advance(end);
        r->last_arrival = v.arrival;
        r->packets++;
        counters_[PacketOutcome::placed]++;
        counters_.bytes += v.payload_length;
        r->ticket = tickets_->take();
        return r;
    }

    /// Returns whether the packet holds the whole payload of its heap, as accept_whole() wants it.
    static bool is_whole(const PacketView& v) noexcept { return v.payload_length == v.heap_length; }
    /// Does accept() for a heap of one packet that is usual otherwise: new, with a record and memory free,
    /// few items, and no older heap in its way. Begins, ends and remembers it at once. Requires is_whole(v).
    /// Returns null when nothing was done: call accept().
    Record* accept_whole(const PacketView& v) noexcept;

    /// Returns whether a heap of one packet is usual, as accept_whole() wants it, in a window whose heaps go
    /// where a HeapPlacer says. Requires is_whole(v).
    bool may_pass(const PacketView& v) noexcept;
    /// Does accept() for such a heap, and ends it, when its user has found its place by itself: the placer is
    /// not asked. Requires that may_pass(v) has just returned true.
    void pass(const PacketView& v) noexcept;

    /// Ends a batch: the payload of all placed packets has been written, unless an engine does that. Call it
    /// for batches without copies, too: a stop item takes effect here.
    void commit() noexcept {
        own_tickets_.all_done();
        if (stop_pending_) [[unlikely]]
            finish_stop();
        if (heap_placer_ != nullptr && has_ended()) [[unlikely]]
            recycle();
    }

    /// Returns whether ended heaps wait for hand_over().
    bool has_ended() const noexcept { return ended_head_ != ended_tail_; }
    std::uint32_t ended() const noexcept { return ended_tail_ - ended_head_; }
    /// Moves ended heaps into the queue, by the full-queue policy, in the order of their ends, up to one with
    /// a copy that is still to come. One whose copies will never come is discarded (Tickets::fail). A queue
    /// is full when it has no place, or when its heaps and those that consumers hold leave too little of the
    /// quota for live heaps. `now`: ticks of the packets' arrival.
    void hand_over(std::uint64_t now) noexcept;
    /// Returns whether the stream must get no more packets: on_full = block, and the consumer has not made
    /// room yet.
    bool blocked() const noexcept { return blocked_; }

    /// Returns how many heaps queue, are on their way there, or are in consumers' hands: their memory comes
    /// back.
    std::size_t heaps_elsewhere() const noexcept { return records_out() - counters_.heaps_live; }
    /// Returns whether room may come for the packet that had to wait last, in a window that lends. Otherwise
    /// accept_now() is for it.
    bool is_worth_waiting() noexcept;
    /// Returns whether consumers keep heaps for as long as they like (WindowConfig::lends).
    bool lends() const noexcept { return config_.lends; }
    /// Returns whether packets wait for room, rather than be lost: on_full = block.
    bool waits() const noexcept { return waits_; }
    /// Returns whether a burst may bring more heaps than there is room for, if they are like the latest one.
    /// For streams that can wait.
    bool is_short() const noexcept {
        return waits_ && (placer_.available() < kMaxBatch * last_block_ || free_count_ < kMaxBatch);
    }
    /// Returns how many packets are surely taken if heaps are like the latest one: 0..kMaxBatch. 0 only while
    /// heaps queue: the consumer has something to take, and then to give back.
    std::uint16_t packets_with_room() noexcept;

    /// Takes back the heaps that consumers released.
    void reclaim() noexcept;

    /// Gives up heaps whose time is over and expires old history. Call it every few milliseconds between
    /// batches.
    void expire(std::uint64_t now) noexcept;
    /// Calls `f` with each live heap and the number of its record. `f` starts and ends none.
    template <class F>
    void each_live(F&& f) noexcept {
        for (Substream& s : substreams_)
            for (std::uint32_t n = s.places.oldest; n != s.places.begun; n++)
                if (Record* const r = s.places.at(n).live(); r != nullptr)
                    f(static_cast<const Record&>(*r), number_of(*r));
    }
    /// Gives up the live heaps for which `gone` returns true: their later packets are `late`. Their records
    /// are free when all copies into them have been made.
    template <class F>
    void give_up_if(F&& gone) noexcept {
        giving_up_ = true;
        for (Substream& s : substreams_)
            for (std::uint32_t n = s.places.oldest; n != s.places.begun; n++)
                if (Record* const r = s.places.at(n).live();
                    r != nullptr && gone(static_cast<const Record&>(*r), number_of(*r)))
                    end(*r, HeapEnd::evicted);
        giving_up_ = false;
        recycle_if_placed();
    }
    /// Returns whether the window knows the heap: it is live, or remembered.
    bool knows(std::uint64_t key) noexcept { return table_.find(key) != nullptr; }
    /// Returns whether the heap is live, or among the latest that its substream remembers.
    bool is_recent(std::uint64_t key) noexcept {
        constexpr std::size_t kRecent = 64;
        const KeyTable::Entry* const entry = table_.find(key);
        return entry != nullptr &&
               (entry->state == KeyTable::State::live || substream_of(key).history.is_recent(key, kRecent));
    }
    /// Limits the numbers of records.
    std::size_t records() const noexcept { return records_.size(); }
    /// Ends every live heap (end of the run, stop); hands over as far as the queue allows.
    void flush(std::uint64_t now) noexcept;
    /// Gives up heaps that a blocking queue would not take, after flush, up to one with a copy that is still
    /// to come.
    void drop_waiting() noexcept;
    /// Accepts no more packets: they count as `stopped`. Live heaps are flushed now, or by commit() if a
    /// batch has begun.
    void stop() noexcept {
        refuse_packets();
        if (!own_tickets_.any_out())
            finish_stop();
    }
    bool stopped() const noexcept { return stopped_; }

    /// Returns the number of records not in the free pool.
    std::size_t records_out() const noexcept { return records_.size() - free_count_; }
    const PoolPlacer& placer() const noexcept { return placer_; }
    const Books& books() const noexcept { return books_; }
    /// Returns the latencies and gaps of heaps, in ticks.
    const stats::StreamTimes& times() noexcept {
        times_.gap.add(0, std::exchange(same_start_, 0));
        times_.latency.add(0, std::exchange(passed_, 0));
        return times_;
    }
    void forget_most_out() noexcept { placer_.forget_most_out(); }
    /// Returns the most bytes that payload took at once since the last take_rotating().
    std::size_t rotating() const noexcept { return placer_.rotating(); }
    std::size_t take_rotating() noexcept { return placer_.take_rotating(); }
    /// Restarts everything that is no count: times, and the most memory that was in use.
    void forget_peaks() noexcept {
        times_ = {};
        same_start_ = passed_ = 0;
        suspects_ = {};
        counters_.ghosts_source = 0;
        counters_.ghosts_of_source = 0;
        placer_.forget_most_out();
    }

    /// Changes settings at run time; called by the owning lcore between bursts.
    void set_timeout(std::uint64_t ticks) noexcept { config_.timeout_ticks = ticks; }
    void set_quota(std::size_t bytes) noexcept { placer_.set_quota(bytes); }
    void set_on_full(FullPolicy policy) noexcept {
        config_.on_full = policy;
        waits_ = policy == FullPolicy::block;
        placer_.set_can_wait(waits_);
    }

    /// Keeps the packets of its heaps there that the caller does not copy. Before the first packet; `lent`
    /// outlives the window, and is for its records.
    void lend_with(LentPackets& lent) noexcept;

    /// Leaves the copies to an engine, which closes the batches of `tickets` and says when they are done. No
    /// heap moves to a larger block then. Before the first packet; `tickets` outlives the window.
    void copied_by(Tickets& tickets) noexcept { tickets_ = &tickets; }

    void prefetch(std::uint64_t key) const noexcept { table_.prefetch(key); }

  private:
    struct Substream {
        Places places;
        std::uint64_t newest_start = 0;  ///< ticks
        std::uint64_t start_before = 0;  ///< of the heap before the newest
        std::uint32_t refused = 0;       ///< heaps, in a row, since the oldest one in doubt got a packet
        std::pair<std::uint32_t, std::uint32_t> when_refused;  ///< its place and packets at the last refusal
        bool in_doubt = false;  ///< its oldest heap is live although max_live newer ones have begun
        History history;

        Substream(std::size_t heaps, std::size_t history_size) : places(heaps), history(history_size) {}
    };

    Accepted decide(const PacketView& v) noexcept;
    Accepted start(const PacketView& v) noexcept;
    Accepted start_beside(const PacketView& v, Record& rival) noexcept;
    Accepted start_placed(const PacketView& v) noexcept;
    Accepted begin_without_rival(const PacketView& v, memory::Block block) noexcept;
    void recycle() noexcept;
    void recycle_if_placed() noexcept {
        if (heap_placer_ != nullptr)
            recycle();
    }
    Accepted start_short(const PacketView& v, Record* rival) noexcept;
    Accepted begin(const PacketView& v, memory::Block block, Record* rival) noexcept;
    static bool agrees(const Record& r, const PacketView& v) noexcept;
    Accepted contradicted(const PacketView& v) noexcept;
    void link(Record& known, Record& r) noexcept;
    bool leave_rivals(Record& r, bool complete) noexcept;
    std::uint32_t number_of(const Record& r) const noexcept {
        return static_cast<std::uint32_t>(&r - records_.data());
    }
    Accepted refuse(const PacketView& v) noexcept;
    /// Returns whether packets may wait. Without a quota the stream is being removed, and no heap begins that
    /// could be waited for.
    bool may_wait() const noexcept { return waits_ && placer_.quota() != 0; }
    std::uint32_t take_place(Substream& s, std::uint64_t now, bool demoted) noexcept;
    void make_way(Substream& s, bool demoted) noexcept;
    void settle(Substream& s, const Record* busy = nullptr) noexcept;
    void count_witnesses(Substream& s, Record& r) noexcept;
    void bear_witness(Record& x) noexcept;
    void evict(Substream& s, Record& r) noexcept;
    bool evict_due(Substream& s, bool busy_too) noexcept;
    /// Says what is short when a ghost is to make room.
    enum class Short : std::uint8_t { payload, books };
    bool drop_ghost(std::size_t bytes, bool larger, Short what, const Record* keep = nullptr) noexcept;
    bool is_in_excess(std::size_t bytes) const noexcept;
    /// Limits the ghosts that are dropped to make room for a block.
    static constexpr std::uint32_t kGhostTries = 16;
    bool is_slow(const Record& r) const noexcept;
    void drop_last_ended() noexcept;
    /// Returns whether the heap's end gives back all but the bytes that came. A stream that loses none hands
    /// such a heap over, even if it is a ghost.
    bool leaves_its_room(const Record& r) const noexcept {
        return config_.lends && config_.on_full == FullPolicy::block &&
               (r.flags & Record::kBeganUnsized) != 0;
    }
    void note_ghost(Record& r) noexcept;
    bool has_little(const Record& r) const noexcept;
    static bool is_ghost(const Record& r) noexcept { return r.packets <= kGhostPackets; }
    memory::Block place_at_once(const PacketView& v) noexcept;
    memory::Block place(const PacketView& v) noexcept;
    memory::Block find_place(const PacketView& v, bool& waits) noexcept;
    std::size_t wanted(const PacketView& v) const noexcept;
    memory::Block take_books(const Record& r, std::size_t bytes) noexcept;
    Accepted add(Record& r, const PacketView& v) noexcept;
    Accepted known(const KeyTable::Entry& entry, const PacketView& v) noexcept;
    bool may_begin_anew(const PacketView& v) const noexcept;
    Accepted placed(Record& r, const PacketView& v) noexcept;
    PacketOutcome adopt_length(Record& r, const PacketView& v) noexcept;
    /// Holds the result of an attempt to make room within a heap's books.
    enum class Grown : std::uint8_t { yes, no_memory, at_limit };
    Grown reserve_items(Record& r, std::uint32_t more) noexcept;
    Grown grow_ranges(Record& r) noexcept;
    Grown grow_payload(Record& r, std::uint64_t bytes) noexcept;
    /// Returns whether heaps of unknown length may move to larger blocks.
    bool grows() const noexcept { return config_.on_full == FullPolicy::block && tickets_ == &own_tickets_; }
    Accepted cannot_grow(Grown why) noexcept;
    Accepted cannot_begin(Record& r, const PacketView& v, Grown why, const Record* rival) noexcept;
    Grown fill(Record& r, const PacketView& v) noexcept;
    static std::uint32_t take_words(Record& r, const PacketView& v) noexcept;
    /// Returns the bytes of its payload block: 0 if it lies elsewhere.
    std::size_t bytes_of(const Record& r) const noexcept {
        return r.payload ? placer_.capacity(r.payload) : 0;
    }
    std::size_t books_of(const Record& r) const noexcept {
        return (r.item_block ? books_.size_of(r.item_block) : 0) +
               (r.range_block ? books_.size_of(r.range_block) : 0);
    }
    /// Returns whether the packet is a whole heap that carries only stream control.
    static bool is_control_heap(const PacketView& v) noexcept {
        return (v.flags & (PacketView::kControl | PacketView::kItems)) == PacketView::kControl &&
               v.offset == 0 && (v.heap_length == kUnknownLength || v.heap_length == v.payload_length);
    }
    void see_control(const PacketView& v) noexcept;
    /// Ends the heap. `lost_count`: another claim to its count has proved to be the heap; this one is not
    /// counted.
    void end(Record& r, HeapEnd how, bool lost_count = false) noexcept;
    Accepted end_at_once(Record& r, const PacketView& v, bool lost_count) noexcept;
    void leave(std::uint64_t key, KeyTable::State state, std::uint8_t flavour) noexcept;
    void remember(std::uint64_t key, KeyTable::State state, std::uint8_t flavour,
                  std::uint32_t note = 0) noexcept;
    /// Returns the note that the history keeps with the count of a one-packet heap. Not 0.
    static std::uint32_t note_of(std::uint64_t heap_length, std::uint8_t flavour) noexcept {
        return (static_cast<std::uint32_t>(heap_length) ^ std::uint32_t{flavour} << 24) | 0x80000000U;
    }
    /// Holds the address bits up to which counts soon come round (make_place).
    static constexpr unsigned kFewBits = 24;
    void remember_refused(const PacketView& v, PacketOutcome outcome) noexcept;
    void make_place(Substream& s, std::uint8_t flavour) noexcept;
    void forget_expired(Substream& s, std::uint64_t now) noexcept;
    void forget_oldest(Substream& s) noexcept;
    bool retract_if_control(Record& r) noexcept;
    void retract_claim(Record& r) noexcept;
    bool leaves_room(const Record& next) const noexcept;
    bool must_wait(const Record& next) noexcept;
    bool is_unwanted(const Record& ghost) const noexcept;
    std::uint32_t copied(Record* const* first, std::uint32_t most) const noexcept;
    std::uint32_t push(std::uint32_t count, std::uint64_t now) noexcept;
    /// Counts a start. Heaps of one burst begin at the same time and are counted together.
    void count_start(std::uint64_t now) noexcept {
        if (now == last_start_) [[likely]]
            same_start_++;
        else
            count_gap(now);
    }
    void count_gap(std::uint64_t now) noexcept;
    void drop(Record& r) noexcept;
    void lose(Record& r) noexcept;
    void free_record(Record& r) noexcept;
    std::size_t clear(Record& r) noexcept;
    void free_books(Record& r) noexcept;
    void refuse_packets() noexcept;
    void finish_stop() noexcept;
    Substream& substream_of(std::uint64_t key) noexcept {
        return config_.substreams == 1 ? substreams_[0] : substreams_[key % config_.substreams];
    }
    /// Returns the records that queue or are in consumers' hands.
    std::size_t records_elsewhere() const noexcept { return records_out() - counters_.heaps_live - ended(); }

    WindowConfig config_;
    PoolPlacer placer_;
    HeapPlacer* heap_placer_ = nullptr;  ///< null: payload lies in blocks of placer_
    HeapQueue* queue_;
    LentPackets* lent_ = nullptr;  ///< null: all packets are copied
    stats::StreamCounters& counters_;
    KeyTable table_;
    std::uint64_t last_key_ = 0;     ///< of last_record_
    Record* last_record_ = nullptr;  ///< live heap of the packet before, or null
    std::uint64_t now_ = 0;          ///< arrival of the packet being decided
    std::uint64_t last_start_ = 0;   ///< first arrival of the latest heap; 0: none
    std::uint64_t same_start_ = 0;   ///< further heaps that began then and are not in times_ yet
    std::uint64_t passed_ = 0;       ///< heaps that passed and are not in times_ yet
    Tickets own_tickets_;            ///< of the caller's copies
    Tickets* tickets_ = &own_tickets_;
    bool stopped_ = false;
    bool stop_pending_ = false;
    std::uint32_t doubts_ = 0;        ///< substreams in doubt: meanwhile every packet takes the slow path
    std::uint32_t ghost_cursor_ = 0;  ///< substream where the search for a ghost continues
    bool blocked_ = false;
    bool has_waited_ = false;
    std::uint64_t evicted_for_room_ = 0;
    bool giving_up_ = false;  ///< heaps end for no fault of theirs
    bool waits_ = false;      ///< rather than lose a packet
    bool retracted_ = false;  ///< an ended heap is not to be delivered, or only where there is plenty of room
    std::uint32_t free_count_ = 0;
    std::uint32_t ended_head_ = 0;
    std::uint32_t ended_tail_ = 0;
    std::uint32_t ended_mask_ = 0;
    std::size_t live_bytes_ = 0;  ///< payload blocks of live heaps
    std::size_t last_block_ = 0;  ///< bytes, of the latest heap
    std::size_t missing_ = 0;     ///< payload bytes that a packet lacked last; 0: it was books
    /// Limits the payload of accept_whole() and may_pass(): 0 if no heap is one for them.
    std::uint64_t whole_most_ = 0;
    std::vector<Record*> free_;   ///< stack
    std::vector<Record*> ended_;  ///< ring of heaps on their way to the queue
    std::vector<Substream> substreams_;
    std::vector<Record> records_;
    Suspects suspects_;
    stats::StreamTimes times_;
    Books books_;
};

}  // namespace spead::heap
