// SPDX-License-Identifier: BSD-3-Clause
#include "heap/window.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "heap/secret.hpp"

namespace spead::heap {

namespace {

using State = KeyTable::State;

std::uint32_t history_size(const WindowConfig& c) {
    return std::max(c.history, WindowConfig::kLeastHistory);
}

std::size_t keys_needed(const WindowConfig& c) {
    return std::size_t{c.substreams} * (c.max_live + history_size(c));
}

std::uint64_t end_of(const PacketView& v) {
    return v.offset + v.payload_length;
}

}  // namespace

std::size_t Window::records_needed(const WindowConfig& config, std::size_t queue_heaps) {
    // Live heaps, the queue, as many again in consumers' hands, and what one batch can end.
    return std::size_t{config.substreams} * config.max_live + 2 * queue_heaps + 2 * kMaxBatch;
}

std::size_t Window::bookkeeping_bytes(const WindowConfig& config, std::size_t queue_heaps) {
    return KeyTable::bytes_for(keys_needed(config)) +
           std::size_t{config.substreams} *
               (history_size(config) * sizeof(History::Entry) + config.max_live * sizeof(Record*)) +
           records_needed(config, queue_heaps) * (sizeof(Record) + 4 * sizeof(Record*));
}

Window::Window(const WindowConfig& config, PoolPlacer placer, HeapQueue& queue,
               stats::StreamCounters& counters)
    : config_(config),
      placer_(placer),
      queue_(&queue),
      counters_(counters),
      table_(keys_needed(config), hash_secret()),
      records_(records_needed(config, queue.capacity())) {
    config_.max_heap_bytes = std::min(config_.max_heap_bytes, kMaxHeapBytes);
    substreams_.reserve(config.substreams);
    for (std::uint32_t i = 0; i < config.substreams; i++)
        substreams_.emplace_back(config.max_live, history_size(config));
    free_.resize(records_.size());
    for (std::size_t i = records_.size(); i != 0; i--)
        free_[free_count_++] = &records_[i - 1];
    ended_.resize(std::bit_ceil(records_.size() + 1));
    ended_mask_ = static_cast<std::uint32_t>(ended_.size() - 1);
}

Window::Accepted Window::decide(const PacketView& v) noexcept {
    if (stopped_) [[unlikely]]
        return {PacketOutcome::stopped, nullptr};
    if (v.heap_length > config_.max_heap_bytes) [[unlikely]]
        if (v.heap_length != kUnknownLength || end_of(v) > config_.max_heap_bytes)
            return {PacketOutcome::heap_too_big, nullptr};
    now_ = v.arrival;
    if (last_record_ != nullptr && v.key == last_key_)
        return add(*last_record_, v);
    const KeyTable::Entry* const entry = table_.find(v.key);
    if (entry == nullptr)
        return start(v);
    if (entry->state == State::live) [[likely]] {
        last_key_ = v.key;
        last_record_ = &records_[entry->record];
        return add(*last_record_, v);
    }
    return known(entry->state, v);
}

Window::Accepted Window::known(State state, const PacketView& v) noexcept {
    forget_expired(substream_of(v.key), now_);
    if (table_.find(v.key) == nullptr)
        return start(v);
    switch (state) {
        case State::given_up:
            return {PacketOutcome::late, nullptr};
        case State::refused:
            return {PacketOutcome::no_memory, nullptr};
        default:
            return {PacketOutcome::duplicate, nullptr};
    }
}

Window::Accepted Window::start(const PacketView& v) noexcept {
    const bool sized = v.heap_length != kUnknownLength;
    if ((v.flags & (PacketView::kControl | PacketView::kItems)) == PacketView::kControl && v.offset == 0 &&
        (!sized || v.heap_length == v.payload_length)) [[unlikely]] {
        remember(v.key, State::done, v.flavour);
        see_control(v);
        return {PacketOutcome::control, nullptr};
    }
    if (config_.in_order && v.offset != 0) [[unlikely]]
        return {PacketOutcome::out_of_order, nullptr};

    memory::Block block = place(v);
    if (!block) [[unlikely]] {
        reclaim();
        block = place(v);
    }
    if (!block) [[unlikely]]
        return refuse(v);

    Record& r = *free_[free_count_ - 1];
    r.base = block.base;
    r.length = v.heap_length;
    r.coverage.reset(r.inline_ranges.data(), Record::kInlineRanges);
    r.packets = 0;
    r.flavour = v.flavour;
    r.flags = static_cast<std::uint8_t>((v.item_extent > v.heap_length ? Record::kItemPastEnd : 0) |
                                        (v.heap_length == kUnknownLength ? Record::kBeganUnsized : 0));
    r.key = v.key;
    r.first_arrival = v.arrival;
    r.first_time = r.last_time = 0;
    r.item_extent = v.item_extent;
    r.items = r.inline_items.data();
    r.item_count = 0;
    r.item_capacity = Record::kInlineItems;
    r.source = v.source;
    r.payload = block;
    r.item_block = {};
    r.range_block = {};
    if (!fill(r, v)) [[unlikely]] {
        placer_.release(block);
        return refuse(v);
    }
    free_count_--;

    Substream& s = substream_of(v.key);
    r.place = take_place(s, v.arrival);
    counters_.heaps_started++;
    count_start(v.arrival);
    counters_.packets_reordered += v.offset != 0;
    if (r.complete() && (v.flags & PacketView::kControl) == 0)
        return end_at_once(r, v);
    counters_.heaps_live++;
    live_bytes_ += placer_.capacity(block);
    s.live[r.place] = &r;
    table_.insert(v.key, State::live, static_cast<std::uint32_t>(&r - records_.data()));
    last_key_ = v.key;
    last_record_ = &r;
    return placed(r, v);
}

/// No room for a heap that begins. It moves its substream's window on all the same: heaps that never end
/// would keep the room for ever otherwise.
Window::Accepted Window::refuse(const PacketView& v) noexcept {
    take_place(substream_of(v.key), v.arrival);
    remember(v.key, State::refused, v.flavour);
    return {PacketOutcome::no_memory, nullptr};
}

/// The next place of the ring, for a heap that begins; the heap that still has it is evicted.
std::uint32_t Window::take_place(Substream& s, std::uint64_t now) noexcept {
    const std::uint32_t place = s.head;
    s.head = place + 1 == config_.max_live ? 0 : place + 1;
    if (Record* const occupant = s.live[place]; occupant != nullptr) {
        // Later, not at the same time: all packets of a burst have one arrival time.
        if (occupant->last_arrival > s.newest_start)
            counters_.heaps_interleaved_evictions++;
        end(*occupant, HeapEnd::evicted);
    }
    s.newest_start = now;
    return place;
}

[[gnu::noinline]] void Window::count_gap(std::uint64_t now) noexcept {
    times_.gap.add(0, std::exchange(same_start_, 0));
    if (last_start_ != 0)
        times_.gap.add(now > last_start_ ? now - last_start_ : 0);
    last_start_ = now;
}

/// placed() and end() of a heap that its first packet completes.
Window::Accepted Window::end_at_once(Record& r, const PacketView& v) noexcept {
    r.last_arrival = v.arrival;
    r.packets = 1;
    r.end = HeapEnd::complete;
    counters_.bytes += v.payload_length;
    outstanding_ += v.payload_length != 0;
    remember(v.key, State::done, v.flavour);
    counters_.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)]++;
    counters_.heaps_waiting++;
    ended_[ended_tail_++ & ended_mask_] = &r;
    return {PacketOutcome::placed, &r};
}

/// A block for a new heap, if there is a record for it too.
memory::Block Window::place(const PacketView& v) noexcept {
    if (free_count_ == 0) [[unlikely]]
        return {};
    if (v.heap_length != kUnknownLength) [[likely]]
        return placer_.place(v.heap_length);
    // How long it becomes is not known: a fair share, so that the others find room too.
    const std::uint64_t least = std::max<std::uint64_t>(end_of(v), 1);
    const std::uint64_t share = std::bit_floor(placer_.quota() / (std::size_t{live_capacity()} + 1));
    return placer_.place_between(least, std::clamp(share, least, std::max(least, config_.max_heap_bytes)));
}

/// The first packet of a heap: its items and its bytes.
bool Window::fill(Record& r, const PacketView& v) noexcept {
    if (v.item_count != 0) {
        if (v.item_count <= Record::kInlineItems) [[likely]] {
            // A loop of words: for few of them a call or a string instruction costs more than it moves.
            std::uint64_t* const first = r.inline_items.data();
            std::uint64_t* last = first;
            for (std::uint32_t i = 0; i < v.item_count; i++) {
                std::memcpy(last, v.items + std::size_t{i} * 8, 8);
                last += std::find(first, last, *last) == last;
            }
            r.item_count = static_cast<std::uint32_t>(last - first);
        } else {
            if (!reserve_items(r, v.item_count))
                return false;
            for (std::uint32_t i = 0; i < v.item_count; i++) {
                std::uint64_t word;
                std::memcpy(&word, v.items + std::size_t{i} * 8, 8);
                add_item_word(r, word);
            }
        }
    }
    if (v.payload_length != 0)
        r.coverage.add(v.offset, end_of(v));
    return true;
}

/// A packet whose length is not the one the heap has: it tells one first, tells none, or contradicts.
PacketOutcome Window::adopt_length(Record& r, const PacketView& v) noexcept {
    const std::uint64_t capacity = placer_.capacity(r.payload);
    if (v.heap_length == kUnknownLength) {
        if (r.length != kUnknownLength)
            return end_of(v) <= r.length ? PacketOutcome::placed : PacketOutcome::inconsistent;
        return end_of(v) <= capacity ? PacketOutcome::placed : PacketOutcome::no_memory;
    }
    if (r.length != kUnknownLength || v.heap_length < r.coverage.extent())
        return PacketOutcome::inconsistent;
    if (v.heap_length > capacity)
        return PacketOutcome::no_memory;
    r.length = v.heap_length;
    return PacketOutcome::placed;
}

Window::Accepted Window::add(Record& r, const PacketView& v) noexcept {
    if (v.flavour != r.flavour) [[unlikely]]
        return {PacketOutcome::inconsistent, nullptr};
    const std::uint64_t length_before = r.length;
    if (v.heap_length != r.length || v.heap_length == kUnknownLength) [[unlikely]]
        if (const PacketOutcome o = adopt_length(r, v); o != PacketOutcome::placed)
            return {o, nullptr};

    const std::uint64_t prefix = r.coverage.prefix();
    const bool new_items = v.item_count != 0 && !repeats_items(r, v);
    PacketOutcome outcome = PacketOutcome::placed;
    if (config_.in_order && v.offset != prefix) [[unlikely]] {
        outcome = end_of(v) <= prefix ? PacketOutcome::duplicate : PacketOutcome::out_of_order;
    } else if (v.payload_length != 0) {
        // Nothing of a packet is taken unless all of it can be.
        Cover cover = new_items ? r.coverage.test(v.offset, end_of(v)) : r.coverage.add(v.offset, end_of(v));
        if (cover == Cover::full && grow_ranges(r))
            cover = new_items ? Cover::added : r.coverage.add(v.offset, end_of(v));
        if (cover == Cover::known)
            outcome = PacketOutcome::duplicate;
        else if (cover == Cover::partial)
            outcome = PacketOutcome::inconsistent;
        else if (cover == Cover::full)
            outcome = PacketOutcome::no_memory;
    }
    if (new_items && outcome == PacketOutcome::placed) {
        if (!reserve_items(r, v.item_count)) {
            outcome = PacketOutcome::no_memory;
        } else {
            bool any = v.payload_length != 0;
            for (std::uint32_t i = 0; i < v.item_count; i++) {
                std::uint64_t word;
                std::memcpy(&word, v.items + std::size_t{i} * 8, 8);
                any |= add_item_word(r, word) == ItemsAdded::some;
            }
            if (v.payload_length != 0)
                r.coverage.add(v.offset, end_of(v));
            else if (!any && r.length == length_before)
                outcome = PacketOutcome::duplicate;
        }
    } else if (v.payload_length == 0 && outcome == PacketOutcome::placed && r.length == length_before) {
        outcome = PacketOutcome::duplicate;
    }
    if (outcome != PacketOutcome::placed) [[unlikely]] {
        r.length = length_before;
        return {outcome, nullptr};
    }
    if (v.offset != prefix)
        counters_.packets_reordered++;
    return placed(r, v);
}

/// The packet's bytes and items are in the heap's books: the rest of the bookkeeping, and the end if it was
/// the last.
Window::Accepted Window::placed(Record& r, const PacketView& v) noexcept {
    if (v.item_extent > r.item_extent)
        r.item_extent = v.item_extent;
    if (r.item_extent > r.length)
        r.flags |= Record::kItemPastEnd;
    if ((v.flags & PacketView::kItems) != 0)
        r.flags |= Record::kHasItems;
    r.last_arrival = v.arrival;
    r.packets++;
    counters_.bytes += v.payload_length;
    outstanding_ += v.payload_length != 0;
    if ((v.flags & PacketView::kControl) != 0) [[unlikely]] {
        r.flags |= Record::kHasControl;
        see_control(v);
    }
    if (r.complete())
        end(r, HeapEnd::complete);
    return {PacketOutcome::placed, &r};
}

void Window::see_control(const PacketView& v) noexcept {
    if ((v.flags & PacketView::kStop) == 0)
        return;
    counters_.stop_items++;
    if (config_.stop_on_stop_item)
        refuse_packets();
}

bool Window::reserve_items(Record& r, std::uint32_t more) noexcept {
    if (more > kMaxItems || r.item_count + more > kMaxItems)
        return false;
    const std::uint32_t need = r.item_count + more;
    if (need <= r.item_capacity)
        return true;
    const std::uint32_t capacity = std::max(std::uint32_t{64}, std::bit_ceil(need));
    const memory::Block block = placer_.place(item_block_bytes(capacity));
    if (!block)
        return false;
    move_items(r, block.base, capacity);
    if (r.item_block)
        placer_.release(r.item_block);
    r.item_block = block;
    return true;
}

bool Window::grow_ranges(Record& r) noexcept {
    const std::uint32_t capacity = std::min(r.coverage.capacity() * 8, kMaxRanges);
    if (capacity == r.coverage.capacity())
        return false;
    const memory::Block block = placer_.place(std::size_t{capacity} * sizeof(Range));
    if (!block)
        return false;
    r.coverage.move_to(reinterpret_cast<Range*>(block.base), capacity);
    if (r.range_block)
        placer_.release(r.range_block);
    r.range_block = block;
    return true;
}

void Window::end(Record& r, HeapEnd how) noexcept {
    Substream& s = substream_of(r.key);
    if (s.live[r.place] == &r)
        s.live[r.place] = nullptr;
    if (last_record_ == &r)
        last_record_ = nullptr;
    leave(r.key, how == HeapEnd::complete ? State::done : State::given_up, r.flavour);
    r.end = how;
    counters_.heaps_live--;
    live_bytes_ -= placer_.capacity(r.payload);
    if ((r.flags & Record::kBeganUnsized) != 0) [[unlikely]]
        r.payload = placer_.trim(r.payload, r.length == kUnknownLength ? r.coverage.extent() : r.length);
    if (how == HeapEnd::complete && retract_if_control(r)) [[unlikely]] {
        retracted_ = true;
    } else {
        counters_.heaps_ended[static_cast<std::size_t>(how)]++;
        counters_.missing_bytes += r.missing_bytes();
        counters_.missing_packets += r.missing_packets();
        counters_.heaps_waiting++;
    }
    ended_[ended_tail_++ & ended_mask_] = &r;
}

/// A heap of several packets that turned out to carry stream control only is no data: its packets move to
/// `control`, and it never was a heap.
bool Window::retract_if_control(Record& r) noexcept {
    if ((r.flags & (Record::kHasControl | Record::kHasItems)) != Record::kHasControl) [[likely]]
        return false;
    r.flags |= Record::kRetracted;
    // The packet that completed it is counted as placed by accept() after this.
    counters_[PacketOutcome::placed] -= r.packets;
    counters_[PacketOutcome::control] += r.packets;
    counters_.bytes -= r.coverage.received();
    counters_.control_bytes += r.coverage.received();
    counters_.heaps_started--;
    return true;
}

/// The heap's count leaves the live heaps.
void Window::leave(std::uint64_t key, State state, std::uint8_t flavour) noexcept {
    KeyTable::Entry* const entry = table_.find(key);
    if (config_.history == 0) {
        if (entry != nullptr)
            table_.erase(entry);
        return;
    }
    Substream& s = substream_of(key);
    if (entry != nullptr) {
        entry->state = state;
        make_place(s, flavour);
    } else {
        make_place(s, flavour);
        table_.insert(key, state, 0);
    }
    s.history.remember(key, now_);
}

/// A count that never was live.
void Window::remember(std::uint64_t key, State state, std::uint8_t flavour) noexcept {
    if (config_.history == 0 && state != State::refused)
        return;
    Substream& s = substream_of(key);
    make_place(s, flavour);
    table_.insert(key, state, 0);
    s.history.remember(key, now_);
}

/// For one more count in the history. Counts of few bits soon come round to new heaps: half of them are
/// remembered at most.
void Window::make_place(Substream& s, std::uint8_t flavour) noexcept {
    constexpr unsigned kFewBits = 24;
    if (flavour <= kFewBits) [[unlikely]] {
        const std::size_t half = (std::size_t{1} << flavour) / 2 / config_.substreams;
        while (!s.history.empty() && s.history.size() >= half)
            forget_oldest(s);
    }
    if (s.history.full())
        forget_oldest(s);
}

void Window::forget_oldest(Substream& s) noexcept {
    if (KeyTable::Entry* const entry = table_.find(s.history.oldest().key); entry != nullptr) [[likely]]
        table_.erase(entry);
    s.history.forget_oldest();
}

void Window::forget_expired(Substream& s, std::uint64_t now) noexcept {
    while (config_.history_ticks != 0 && !s.history.empty() && now > s.history.oldest().time &&
           now - s.history.oldest().time > config_.history_ticks)
        forget_oldest(s);
}

void Window::expire(std::uint64_t now) noexcept {
    now_ = now;
    for (Substream& s : substreams_) {
        forget_expired(s, now);
        if (config_.timeout_ticks == 0)
            continue;
        for (std::uint32_t i = 0; i < config_.max_live; i++)
            if (Record* const r = s.live[(s.head + i) % config_.max_live];
                r != nullptr && now > r->last_arrival && now - r->last_arrival > config_.timeout_ticks)
                end(*r, HeapEnd::timed_out);
    }
    hand_over(now);
}

void Window::flush(std::uint64_t now) noexcept {
    for (Substream& s : substreams_)
        for (std::uint32_t i = 0; i < config_.max_live; i++)
            if (Record* const r = s.live[(s.head + i) % config_.max_live]; r != nullptr)
                end(*r, HeapEnd::flushed);
    hand_over(now);
}

void Window::refuse_packets() noexcept {
    stopped_ = true;
    stop_pending_ = true;
    last_record_ = nullptr;
}

void Window::finish_stop() noexcept {
    stop_pending_ = false;
    flush(now_);
}

}  // namespace spead::heap
