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

/// Holds the least length of a heap for which memory is taken back when it begins: the block that came back
/// last is still in the cache. If each heap comes back before the next begins, one block rotates, and not
/// two.
constexpr std::uint64_t kTakesBack = std::uint64_t{32} << 10;

std::uint32_t history_size(const WindowConfig& c) {
    return std::max(c.history, WindowConfig::kLeastHistory);
}

std::size_t keys_needed(const WindowConfig& c) {
    return std::size_t{c.substreams} * (std::bit_ceil(c.places()) + history_size(c));
}

}  // namespace

std::size_t Window::records_needed(const WindowConfig& config, std::size_t queue_heaps) {
    // Live heaps, the queue, as many again in consumers' hands, and those that one batch can end. Heaps in
    // doubt are counted for a few substreams only: if records are short, ghosts make room.
    const std::size_t doubtful =
        config.guarded ? std::size_t{std::min(config.substreams, 16U)} * WindowConfig::kDoubtful : 0;
    return config.live_capacity() + doubtful + 2 * queue_heaps + 2 * kMaxBatch + config.copying;
}

std::size_t Window::bookkeeping_bytes(const WindowConfig& config, std::size_t queue_heaps) {
    return KeyTable::bytes_for(keys_needed(config)) +
           std::size_t{config.substreams} * (history_size(config) * sizeof(History::Entry) +
                                             std::bit_ceil(config.places()) * sizeof(Place)) +
           records_needed(config, queue_heaps) * (sizeof(Record) + 4 * sizeof(Record*)) +
           config.books(records_needed(config, queue_heaps));
}

Window::Window(const WindowConfig& config, PoolPlacer placer, HeapQueue& queue,
               stats::StreamCounters& counters)
    : config_(config),
      placer_(placer),
      queue_(&queue),
      counters_(counters),
      table_(keys_needed(config), hash_secret()),
      records_(records_needed(config, queue.capacity())),
      books_(config.books(records_.size())) {
    config_.max_heap_bytes = std::min(config_.max_heap_bytes, kMaxHeapBytes);
    // Without a history, heaps of one packet leave nothing behind.
    whole_most_ = config.history == 0 ? 0 : config_.max_heap_bytes;
    set_on_full(config.on_full);
    substreams_.reserve(config.substreams);
    for (std::uint32_t i = 0; i < config.substreams; i++)
        substreams_.emplace_back(config.places(), history_size(config));
    free_.resize(records_.size());
    for (std::size_t i = records_.size(); i != 0; i--) {
        records_[i - 1].use_inline();
        free_[free_count_++] = &records_[i - 1];
    }
    ended_.resize(std::bit_ceil(records_.size() + 1));
    ended_mask_ = static_cast<std::uint32_t>(ended_.size() - 1);
}

Window::Accepted Window::decide(const PacketView& v) noexcept {
    if (stopped_) [[unlikely]]
        return {PacketOutcome::stopped, nullptr};
    if (v.heap_length > config_.max_heap_bytes) [[unlikely]]
        if (v.heap_length != kUnknownLength || v.end() > config_.max_heap_bytes)
            return {PacketOutcome::heap_too_big, nullptr};
    now_ = v.arrival;
    if (last_record_ != nullptr && v.key == last_key_)
        return add(*last_record_, v);
    const KeyTable::Entry* const entry = table_.find(v.key);
    if (entry == nullptr)
        return start(v);
    if (entry->state == State::live) [[likely]] {
        Record& r = records_[entry->record];
        last_key_ = v.key;
        last_record_ = doubts_ == 0 ? &r : nullptr;
        return add(r, v);
    }
    return known(*entry, v);
}

Window::Accepted Window::known(const KeyTable::Entry& entry, const PacketView& v) noexcept {
    const State state = entry.state;
    // A heap of one packet that was another may have been forged.
    const bool another = config_.guarded && state == State::done && entry.record != 0 &&
                         v.heap_length != kUnknownLength && note_of(v.heap_length, v.flavour) != entry.record;
    forget_expired(substream_of(v.key), now_);
    KeyTable::Entry* const still = table_.find(v.key);
    if (still == nullptr)
        return start(v);
    if (another) [[unlikely]] {
        table_.erase(still);
        return start(v);
    }
    if (may_begin_anew(v)) [[unlikely]] {
        const bool was_counted =
            state == State::given_up
                ? still->record != 0
                : state == State::refused && still->record == static_cast<std::uint32_t>(PacketOutcome::late);
        table_.erase(still);
        const Accepted a = start(v);
        // A copy of its first packet: it is one late heap.
        counters_.heaps_late -= was_counted && a.outcome == PacketOutcome::late;
        return a;
    }
    switch (state) {
        case State::given_up:
            // Once for each heap.
            counters_.heaps_late += std::exchange(still->record, 1) == 0;
            return {PacketOutcome::late, nullptr};
        case State::refused:
            return {still->record == 0 ? PacketOutcome::no_memory
                                       : PacketOutcome{static_cast<std::uint8_t>(still->record)},
                    nullptr};
        default:
            return {config_.repeated(), nullptr};
    }
}

/// Returns whether a packet of a count that is remembered may begin a heap: without a history, only heaps
/// that had no place, or were given up, are remembered. A sender that begins anew uses their counts again,
/// and other packets of theirs do not come with the first byte.
bool Window::may_begin_anew(const PacketView& v) const noexcept {
    return config_.history == 0 && v.offset == 0 && (config_.in_order || heap_placer_ != nullptr);
}

Window::Accepted Window::start(const PacketView& v) noexcept {
    if (is_control_heap(v) && !(config_.control_heaps && v.heap_length != kUnknownLength)) [[unlikely]] {
        if (config_.control_heaps) {
            PacketView sized = v;
            sized.heap_length = v.payload_length;
            return start(sized);
        }
        remember(v.key, State::done, v.flavour, note_of(v.heap_length, v.flavour));
        see_control(v);
        return {PacketOutcome::control, nullptr};
    }
    if (config_.in_order && v.offset != 0) [[unlikely]]
        return {PacketOutcome::out_of_order, nullptr};
    if (heap_placer_ != nullptr) [[unlikely]]
        return start_placed(v);
    if (v.heap_length >= kTakesBack && v.heap_length != kUnknownLength)
        reclaim();
    const memory::Block block = place_at_once(v);
    if (!block) [[unlikely]]
        return start_short(v, nullptr);
    return begin(v, block, nullptr);
}

/// Starts a heap for which there is no room at once, or that claims the count of a live one, `rival` (or
/// null).
[[gnu::noinline]] Window::Accepted Window::start_short(const PacketView& v, Record* rival) noexcept {
    memory::Block block = rival == nullptr ? memory::Block{} : place(v);
    if (!block) {
        reclaim();
        block = place(v);
    }
    if (!block && may_wait()) {
        missing_ = std::max<std::uint64_t>(v.heap_length != kUnknownLength ? v.heap_length : v.end(), 1);
        return {kWait, nullptr};
    }
    if (!block && config_.guarded) {
        bool waits = false;
        block = find_place(v, waits);
        if (waits)
            return {kWait, nullptr};
    }
    if (!block)
        return rival == nullptr ? refuse(v) : Accepted{PacketOutcome::inconsistent, nullptr};
    return begin(v, block, rival);
}

Window::Accepted Window::start_beside(const PacketView& v, Record& rival) noexcept {
    if (config_.in_order && v.offset != 0)
        return {PacketOutcome::out_of_order, nullptr};
    return start_short(v, &rival);
}

/// Begins a heap in `block`. Inlined: most heaps have no rival, and many have one packet.
[[gnu::always_inline]] inline Window::Accepted Window::begin(const PacketView& v, memory::Block block,
                                                             Record* rival) noexcept {
    const std::size_t bytes = block ? placer_.capacity(block) : 0;
    Record& r = *free_[--free_count_];
    r.base = block.base;
    r.length = v.heap_length;
    r.coverage.restart(0);
    r.packets = 0;
    r.ticket = tickets_->none();
    r.flavour = v.flavour;
    r.flags = static_cast<std::uint8_t>((v.item_extent > v.heap_length ? Record::kItemPastEnd : 0) |
                                        (v.heap_length == kUnknownLength ? Record::kBeganUnsized : 0));
    r.key = v.key;
    r.first_arrival = v.arrival;
    r.first_time = r.last_time = 0;
    r.item_extent = v.item_extent;
    r.item_count = 0;
    r.source = v.source;
    r.payload = block;
    if (const Grown grown = fill(r, v); grown != Grown::yes) [[unlikely]]
        return cannot_begin(r, v, grown, rival);
    last_block_ = bytes;

    Substream& s = substream_of(v.key);
    const bool demoted = suspects_.any() && suspects_.demoted(v.source);
    if (demoted) [[unlikely]]
        r.flags |= Record::kDemoted;
    r.place = take_place(s, v.arrival, demoted);
    // The heaps that made room may have been the rivals.
    KeyTable::Entry* const entry = rival == nullptr ? nullptr : table_.find(v.key);
    counters_.heaps_started++;
    count_start(v.arrival);
    counters_.packets_reordered += v.offset != 0;
    if (r.complete() && ((v.flags & PacketView::kControl) == 0 || config_.control_heaps)) {
        if ((v.flags & PacketView::kControl) != 0) [[unlikely]]
            see_control(v);
        s.places.at(r.place) = Place(1, true);
        return end_at_once(r, v, entry != nullptr);
    }
    // Only heaps that are live have them.
    r.number = static_cast<std::uint32_t>(counters_.heaps_started);
    r.visited = 1;
    r.witness_for = 0;
    r.rival = 0;
    counters_.heaps_live++;
    live_bytes_ += bytes;
    s.places.at(r.place) = Place(&r);
    if (entry == nullptr) [[likely]]
        table_.insert(v.key, State::live, number_of(r));
    else
        link(records_[entry->record], r);
    last_key_ = v.key;
    last_record_ = doubts_ == 0 ? &r : nullptr;
    return placed(r, v);
}

[[gnu::noinline]] Window::Accepted Window::begin_without_rival(const PacketView& v,
                                                               memory::Block block) noexcept {
    return begin(v, block, nullptr);
}

/// Handles a heap without room for the item pointers of its first packet.
[[gnu::noinline]] Window::Accepted Window::cannot_begin(Record& r, const PacketView& v, Grown why,
                                                        const Record* rival) noexcept {
    if (r.payload) [[likely]]
        placer_.release(r.payload);
    free_[free_count_++] = &r;
    if (const Accepted a = cannot_grow(why); a.outcome == kWait || rival != nullptr)
        return a;
    return refuse(v);
}

/// Refuses a heap without room. It still advances its substream's window: otherwise heaps that never end
/// would keep the room.
Window::Accepted Window::refuse(const PacketView& v) noexcept {
    Substream& s = substream_of(v.key);
    s.places.at(take_place(s, v.arrival, false)) = {};
    if (s.in_doubt)
        evict_due(s, false);
    remember(v.key, State::refused, v.flavour);
    return {PacketOutcome::no_memory, nullptr};
}

/// Takes the next place, for a heap that begins, which the caller writes; older heaps may have to go.
[[gnu::always_inline]] inline std::uint32_t Window::take_place(Substream& s, std::uint64_t now,
                                                               bool demoted) noexcept {
    s.start_before = std::exchange(s.newest_start, now);
    Places& p = s.places;
    const std::uint32_t number = p.begun++;
    std::uint32_t oldest = p.oldest;
    while (number - oldest >= config_.max_live && p.at(oldest).live() == nullptr)
        oldest++;
    p.oldest = oldest;
    if (number - oldest >= config_.max_live) [[unlikely]]
        make_way(s, demoted);
    return p.begun - 1;
}

/// Does placed() and end() for a heap that its first packet completes.
[[gnu::always_inline]] inline Window::Accepted Window::end_at_once(Record& r, const PacketView& v,
                                                                   bool lost_count) noexcept {
    r.last_arrival = v.arrival;
    r.packets = 1;
    r.end = HeapEnd::complete;
    counters_.bytes += v.payload_length;
    if (v.payload_length != 0) [[likely]]
        r.ticket = tickets_->take();
    if (!lost_count) [[likely]]
        remember(v.key, State::done, v.flavour, note_of(r.length, r.flavour));
    counters_.heaps_ended[static_cast<std::size_t>(HeapEnd::complete)]++;
    counters_.heaps_waiting++;
    ended_[ended_tail_++ & ended_mask_] = &r;
    return {PacketOutcome::placed, &r};
}

/// Does place() for the usual heap, with memory available.
[[gnu::always_inline]] inline memory::Block Window::place_at_once(const PacketView& v) noexcept {
    if (free_count_ == 0 || v.heap_length == kUnknownLength || counters_.heaps_live > config_.live_capacity())
        [[unlikely]]
        return place(v);
    return placer_.place(v.heap_length);
}

/// Enters the first packet of a heap: its items and its bytes.
[[gnu::always_inline]] inline Window::Grown Window::fill(Record& r, const PacketView& v) noexcept {
    if (v.item_count != 0) {
        if (v.item_count <= Record::kInlineItems) [[likely]] {
            r.item_count = take_words(r, v);
        } else {
            if (const Grown grown = reserve_items(r, v.item_count); grown != Grown::yes)
                return grown;
            for (std::uint32_t i = 0; i < v.item_count; i++) {
                std::uint64_t word;
                std::memcpy(&word, v.items + std::size_t{i} * 8, 8);
                add_item_word(r, word);
            }
        }
    }
    if (v.payload_length != 0)
        r.coverage.add(v.offset, v.end());
    return Grown::yes;
}

Window::Accepted Window::add(Record& r, const PacketView& v) noexcept {
    if (v.flavour != r.flavour) [[unlikely]]
        return contradicted(v);
    const std::uint64_t length_before = r.length;
    if (v.heap_length != r.length || v.heap_length == kUnknownLength) [[unlikely]]
        if (const PacketOutcome o = adopt_length(r, v); o != PacketOutcome::placed)
            return o == PacketOutcome::inconsistent ? contradicted(v) : Accepted{o, nullptr};

    const std::uint64_t prefix = r.coverage.prefix();
    const bool new_items = v.item_count != 0 && !repeats_items(r, v);
    PacketOutcome outcome = PacketOutcome::placed;
    Grown grown = Grown::yes;
    if (config_.in_order && v.offset != prefix) [[unlikely]] {
        outcome = v.end() <= prefix ? config_.repeated() : PacketOutcome::out_of_order;
    } else if (v.payload_length != 0) {
        // A packet is taken as a whole or not at all.
        Cover cover = new_items ? r.coverage.test(v.offset, v.end()) : r.coverage.add(v.offset, v.end());
        if (cover == Cover::full && (grown = grow_ranges(r)) == Grown::yes)
            cover = new_items ? Cover::added : r.coverage.add(v.offset, v.end());
        if (cover == Cover::known)
            outcome = config_.repeated();
        else if (cover == Cover::partial)
            outcome = PacketOutcome::inconsistent;
        else if (cover == Cover::full)
            outcome = cannot_grow(grown).outcome;
    }
    if (new_items && outcome == PacketOutcome::placed) {
        if ((grown = reserve_items(r, v.item_count)) != Grown::yes) {
            outcome = cannot_grow(grown).outcome;
        } else {
            bool any = v.payload_length != 0;
            for (std::uint32_t i = 0; i < v.item_count; i++) {
                std::uint64_t word;
                std::memcpy(&word, v.items + std::size_t{i} * 8, 8);
                any |= add_item_word(r, word) == ItemsAdded::some;
            }
            if (v.payload_length != 0)
                r.coverage.add(v.offset, v.end());
            else if (!any && r.length == length_before)
                outcome = config_.repeated();
        }
    } else if (v.payload_length == 0 && outcome == PacketOutcome::placed && r.length == length_before) {
        outcome = config_.repeated();
    }
    if (outcome != PacketOutcome::placed) [[unlikely]] {
        r.length = length_before;
        return {outcome, nullptr};
    }
    if (v.offset != prefix)
        counters_.packets_reordered++;
    return placed(r, v);
}

/// Finishes a packet whose bytes and items are entered, and ends the heap if it was the last.
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
    if (v.payload_length != 0) [[likely]]
        r.ticket = tickets_->take();
    if ((v.flags & PacketView::kControl) != 0) [[unlikely]] {
        r.flags |= Record::kHasControl;
        see_control(v);
    }
    if (doubts_ != 0) [[unlikely]]
        bear_witness(r);
    if (r.complete())
        end(r, HeapEnd::complete);
    return {PacketOutcome::placed, &r};
}

void Window::end(Record& r, HeapEnd how, bool lost_count) noexcept {
    const bool complete = how == HeapEnd::complete;
    const bool lost_claim = lost_count;
    substream_of(r.key).places.at(r.place) = Place(r.packets, complete);
    if (last_record_ == &r)
        last_record_ = nullptr;
    r.end = how;
    if (r.rival != 0) [[unlikely]]
        lost_count |= leave_rivals(r, complete);
    const bool ghost = config_.guarded && !lost_claim && !giving_up_ && is_ghost(r) &&
                       (how == HeapEnd::evicted || how == HeapEnd::timed_out);
    if (ghost) [[unlikely]]
        note_ghost(r);
    if (ghost && !lost_count) [[unlikely]]
        table_.erase(table_.find(r.key));
    else if (!lost_count) [[likely]]
        leave(r.key, complete ? State::done : State::given_up, r.flavour);
    if (suspects_.any() && complete && !is_ghost(r)) [[unlikely]]
        suspects_.made_heap(r.source);
    counters_.heaps_live--;
    live_bytes_ -= bytes_of(r);
    if ((r.flags & Record::kBeganUnsized) != 0) [[unlikely]]
        r.payload = placer_.trim(r.payload, r.length == kUnknownLength ? r.coverage.extent() : r.length);
    if (lost_claim) [[unlikely]] {
        retract_claim(r);
    } else if (how == HeapEnd::complete && retract_if_control(r)) [[unlikely]] {
        retracted_ = true;
    } else {
        counters_.heaps_ended[static_cast<std::size_t>(how)]++;
        // Missing bytes in the buffers of others count with these.
        if (heap_placer_ == nullptr) {
            counters_.missing_bytes += r.missing_bytes();
            counters_.missing_packets += r.missing_packets();
        }
        counters_.heaps_waiting++;
    }
    ended_[ended_tail_++ & ended_mask_] = &r;
}

/// Remembers a count that never was live.
[[gnu::always_inline]] inline void Window::remember(std::uint64_t key, State state, std::uint8_t flavour,
                                                    std::uint32_t note) noexcept {
    if (config_.history == 0 && state != State::refused)
        return;
    Substream& s = substream_of(key);
    make_place(s, flavour);
    table_.insert(key, state, note);
    s.history.remember(key, now_);
}

void Window::remember_refused(const PacketView& v, PacketOutcome outcome) noexcept {
    remember(v.key, State::refused, v.flavour, static_cast<std::uint32_t>(outcome));
}

/// Makes a place for one more count in the history. Counts of few bits soon come round to new heaps: half of
/// them are remembered at most.
void Window::make_place(Substream& s, std::uint8_t flavour) noexcept {
    if (flavour <= kFewBits) [[unlikely]] {
        const std::size_t half = (std::size_t{1} << flavour) / 2 / config_.substreams;
        while (!s.history.empty() && s.history.size() >= half)
            forget_oldest(s);
    }
    if (s.history.full())
        forget_oldest(s);
}

void Window::forget_oldest(Substream& s) noexcept {
    // A count that was forged may have become live since.
    if (KeyTable::Entry* const entry = table_.find(s.history.oldest().key);
        entry != nullptr && entry->state != State::live) [[likely]]
        table_.erase(entry);
    s.history.forget_oldest();
}

void Window::forget_expired(Substream& s, std::uint64_t now) noexcept {
    while (config_.history_ticks != 0 && !s.history.empty() && now > s.history.oldest().time &&
           now - s.history.oldest().time > config_.history_ticks)
        forget_oldest(s);
}

}  // namespace spead::heap
