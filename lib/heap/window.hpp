// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/byte_order.hpp"
#include "base/outcome.hpp"
#include "heap/heap_queue.hpp"
#include "heap/history.hpp"
#include "heap/item_words.hpp"
#include "heap/key_table.hpp"
#include "heap/packet_view.hpp"
#include "heap/pool_placer.hpp"
#include "heap/record.hpp"
#include "stats/counters.hpp"
#include "stats/stream_times.hpp"

namespace spead::heap {

enum class OnFull : std::uint8_t { drop_newest, drop_oldest, block };

struct WindowConfig {
    static constexpr std::uint32_t kLeastHistory = 64;

    std::uint32_t substreams = 1;  ///< at least 1; heap count modulo this picks an independent window
    /// Live heaps per substream, at least 1: a heap is evicted when so many newer ones have begun, whether or
    /// not there was room for those, and whether or not they are still live.
    std::uint32_t max_live = 4;
    std::uint64_t max_heap_bytes = std::uint64_t{64} << 20;  ///< at most kMaxHeapBytes
    /// Heap counts remembered per substream, of heaps that ended and of heaps that were refused;
    /// kLeastHistory at least. 0: of refused heaps only, whose later packets must not start them in the
    /// middle.
    std::uint32_t history = 1024;
    std::uint64_t history_ticks = 0;  ///< how long they are remembered; 0: until newer ones push them out
    std::uint64_t timeout_ticks = 0;  ///< a heap without a packet for so long is given up; 0: never
    bool in_order = false;
    bool stop_on_stop_item = false;
    OnFull on_full = OnFull::drop_newest;
};

/// The live heaps of one stream on one lcore: packets in, heaps out.
///
/// Two steps. accept() decides a packet's outcome and, for `placed`, where its payload goes; the caller
/// copies (now or later) and says so with commit(). A heap that ends, for whatever reason, is handed over,
/// and its memory reused, only when no copy is outstanding. All functions belong to the owning lcore; none
/// allocates, locks, throws or waits. Between two commits at most kMaxBatch packets may be accepted.
class Window {
  public:
    static constexpr std::size_t kMaxBatch = 64;

    /// How many records (heaps outside the free pool) a configuration needs: live, queued, in the consumer's
    /// hands.
    static std::size_t records_needed(const WindowConfig& config, std::size_t queue_heaps);
    /// Bytes of tables and records, for the plan.
    static std::size_t bookkeeping_bytes(const WindowConfig& config, std::size_t queue_heaps);

    /// `queue`, `counters` and the placer's arena outlive the window; the queue was made for records_needed()
    /// records.
    Window(const WindowConfig& config, PoolPlacer placer, HeapQueue& queue, stats::StreamCounters& counters);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    struct Accepted {
        PacketOutcome outcome;
        Record*
            record;  ///< for `placed`: payload byte i goes to record->base + offset + i, read at copy time
    };

    /// Counts the packet in its outcome.
    Accepted accept(const PacketView& v) noexcept {
        const Accepted a = decide(v);
        counters_[a.outcome]++;
        return a;
    }

    /// accept() for the usual packet: the next bytes of a live heap, not its last, with nothing new but them.
    /// Null: nothing was done, ask accept().
    [[gnu::always_inline]] Record* accept_next(const PacketView& v) noexcept {
        Record* r = last_record_;
        if (r == nullptr || v.key != last_key_) {
            // A stop forgets the last record, so that it is seen here.
            const KeyTable::Entry* const entry = table_.find(v.key);
            if (entry == nullptr || entry->state != KeyTable::State::live || stopped_)
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
        outstanding_++;
        return r;
    }

    /// The payload of `copies` placed packets has been written; packets without payload do not count. Belongs
    /// to the end of every batch, for 0 copies too: a stop item takes effect here.
    void commit(std::uint32_t copies) noexcept {
        outstanding_ -= copies;
        if (stop_pending_ && outstanding_ == 0) [[unlikely]]
            finish_stop();
    }

    /// Ended heaps wait for hand_over().
    bool has_ended() const noexcept { return ended_head_ != ended_tail_; }
    std::uint32_t ended() const noexcept { return ended_tail_ - ended_head_; }
    /// Moves ended heaps into the queue, by the full-queue policy; nothing while copies are outstanding. Full
    /// is a queue without a place, and one whose heaps, with those that consumers hold, leave too little of
    /// the quota for live heaps.
    /// `now`: ticks of the packets' arrival.
    void hand_over(std::uint64_t now) noexcept;
    /// on_full = block, and the consumer has not made room yet: give this stream no more packets.
    bool blocked() const noexcept { return blocked_; }

    /// Takes back what consumers released.
    void reclaim() noexcept;

    /// Gives up heaps whose time is over and forgets old history. Call every few milliseconds between
    /// batches.
    void expire(std::uint64_t now) noexcept;
    /// Ends every live heap (end of the run, stop); hands over as far as the queue allows.
    void flush(std::uint64_t now) noexcept;
    /// After flush: gives up heaps that a blocking queue would not take; nothing while copies are
    /// outstanding.
    void drop_waiting() noexcept;
    /// No more packets are accepted: they count as `stopped`. Live heaps are flushed now, or in the commit
    /// after which no copy is outstanding.
    void stop() noexcept {
        refuse_packets();
        commit(0);
    }
    bool stopped() const noexcept { return stopped_; }

    /// Records not in the free pool.
    std::size_t records_out() const noexcept { return records_.size() - free_count_; }
    const PoolPlacer& placer() const noexcept { return placer_; }
    /// Latencies and gaps of heaps, in ticks.
    const stats::StreamTimes& times() noexcept {
        times_.gap.add(0, std::exchange(same_start_, 0));
        return times_;
    }
    void forget_most_out() noexcept { placer_.forget_most_out(); }
    /// What is no count begins anew: times, and the most memory that was in use.
    void forget_peaks() noexcept {
        times_ = {};
        same_start_ = 0;
        placer_.forget_most_out();
    }

    /// Changes what can change at run time; called by the owning lcore between bursts.
    void set_timeout(std::uint64_t ticks) noexcept { config_.timeout_ticks = ticks; }
    void set_quota(std::size_t bytes) noexcept { placer_.set_quota(bytes); }
    void set_on_full(OnFull policy) noexcept { config_.on_full = policy; }

    void prefetch(std::uint64_t key) const noexcept { table_.prefetch(key); }

  private:
    struct Substream {
        std::vector<Record*> live;       ///< ring; a place is free when null
        std::uint32_t head = 0;          ///< place of the next heap
        std::uint64_t newest_start = 0;  ///< ticks
        History history;

        Substream(std::size_t max_live, std::size_t history_size)
            : live(max_live, nullptr), history(history_size) {}
    };

    Accepted decide(const PacketView& v) noexcept;
    Accepted start(const PacketView& v) noexcept;
    Accepted refuse(const PacketView& v) noexcept;
    std::uint32_t take_place(Substream& s, std::uint64_t now) noexcept;
    memory::Block place(const PacketView& v) noexcept;
    Accepted add(Record& r, const PacketView& v) noexcept;
    Accepted known(KeyTable::State state, const PacketView& v) noexcept;
    Accepted placed(Record& r, const PacketView& v) noexcept;
    PacketOutcome adopt_length(Record& r, const PacketView& v) noexcept;
    bool fill(Record& r, const PacketView& v) noexcept;
    bool reserve_items(Record& r, std::uint32_t more) noexcept;
    bool grow_ranges(Record& r) noexcept;
    void see_control(const PacketView& v) noexcept;
    void end(Record& r, HeapEnd how) noexcept;
    Accepted end_at_once(Record& r, const PacketView& v) noexcept;
    void leave(std::uint64_t key, KeyTable::State state, std::uint8_t flavour) noexcept;
    void remember(std::uint64_t key, KeyTable::State state, std::uint8_t flavour) noexcept;
    void make_place(Substream& s, std::uint8_t flavour) noexcept;
    void forget_expired(Substream& s, std::uint64_t now) noexcept;
    void forget_oldest(Substream& s) noexcept;
    bool retract_if_control(Record& r) noexcept;
    bool leaves_room(const Record& next) const noexcept;
    bool must_wait(const Record& next) noexcept;
    std::uint32_t push(std::uint32_t count, std::uint64_t now) noexcept;
    /// Heaps of one burst begin at the same time: they are counted together.
    void count_start(std::uint64_t now) noexcept {
        if (now == last_start_) [[likely]]
            same_start_++;
        else
            count_gap(now);
    }
    void count_gap(std::uint64_t now) noexcept;
    void drop(Record& r) noexcept;
    void free_record(Record& r) noexcept;
    void refuse_packets() noexcept;
    void finish_stop() noexcept;
    Substream& substream_of(std::uint64_t key) noexcept {
        return config_.substreams == 1 ? substreams_[0] : substreams_[key % config_.substreams];
    }
    /// Records that queue or are in consumers' hands.
    std::size_t records_elsewhere() const noexcept { return records_out() - counters_.heaps_live - ended(); }
    std::uint32_t live_capacity() const noexcept { return config_.substreams * config_.max_live; }

    WindowConfig config_;
    PoolPlacer placer_;
    HeapQueue* queue_;
    stats::StreamCounters& counters_;
    KeyTable table_;
    std::uint64_t last_key_ = 0;     ///< of last_record_
    Record* last_record_ = nullptr;  ///< live heap of the packet before, or null
    std::uint64_t now_ = 0;          ///< arrival of the packet being decided
    std::uint64_t last_start_ = 0;   ///< first arrival of the heap that began last; 0: none has
    std::uint64_t same_start_ = 0;   ///< heaps that began at that time, too, and are not in times_ yet
    std::uint32_t outstanding_ = 0;
    bool stopped_ = false;
    bool stop_pending_ = false;
    bool blocked_ = false;
    bool retracted_ = false;  ///< an ended heap is not to be delivered
    std::uint32_t free_count_ = 0;
    std::uint32_t ended_head_ = 0;
    std::uint32_t ended_tail_ = 0;
    std::uint32_t ended_mask_ = 0;
    std::size_t live_bytes_ = 0;  ///< payload blocks of live heaps
    std::vector<Record*> free_;   ///< stack
    std::vector<Record*> ended_;  ///< ring of heaps on their way to the queue
    std::vector<Substream> substreams_;
    std::vector<Record> records_;
    stats::StreamTimes times_;
};

}  // namespace spead::heap
