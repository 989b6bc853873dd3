// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/tracked.hpp"

#include <algorithm>
#include <atomic>

namespace spead::chunk {

namespace {

/// Holds the size of the queue that a window needs, and ended heaps are not in.
constexpr std::size_t kQueue = 1;

heap::WindowConfig of_chunks(heap::WindowConfig config) {
    // The lane stops with its endpoints. Heaps wait for chunks, not for consumers.
    config.stop_on_stop_item = false;
    config.on_full = heap::FullPolicy::drop_newest;
    config.control_heaps = false;
    config.max_heap_bytes = heap::kMaxHeapBytes;
    return config;
}

/// Returns whether a chunk with sizes of its own has room for a heap.
bool has_room(const Chunk& chunk, const HeapSpot::Where& at, const HeapSpot& to, std::uint64_t first,
              std::uint64_t parts) {
    const auto lies_in = [](std::uint64_t begin, std::uint64_t length, std::uint64_t size) {
        return length <= size && begin <= size - length;
    };
    return lies_in(first, parts, chunk.parts.size()) && lies_in(at.offset, to.length, chunk.data.size()) &&
           (to.extra.empty() || lies_in(at.extra_offset, to.extra.size(), chunk.extra.size()));
}

}  // namespace

Tracked::Tracked(heap::WindowConfig heaps, HeapMap& map, std::uint32_t part_bytes, Member& member,
                 stats::StreamCounters& counters)
    : map_(map),
      counters_(counters),
      member_(member),
      repeated_(heaps.repeated()),
      part_bytes_(part_bytes),
      no_queue_(kQueue, heap::Window::records_needed(of_chunks(heaps), kQueue)),
      window_(of_chunks(heaps), static_cast<heap::HeapPlacer&>(*this), no_queue_, counters),
      spots_(window_.records()) {}

bool Tracked::is_pending(std::uint64_t key) const noexcept {
    return std::find(pending_.begin(), pending_.begin() + pending_count_, key) !=
           pending_.begin() + pending_count_;
}

Tracked::Accepted Tracked::make_pending(std::uint64_t key) noexcept {
    if (pending_count_ < pending_.size() && !is_pending(key))
        pending_[pending_count_++] = key;
    return {.verdict = Verdict::again};
}

/// Returns whether the packet begins a heap, as far as the window knows.
bool Tracked::may_note(const heap::PacketView& view) noexcept {
    constexpr unsigned kBoth = heap::PacketView::kControl | heap::PacketView::kItems;
    return pending_count_ < pending_.size() && (view.flags & kBoth) != heap::PacketView::kControl &&
           !window_.stopped() && !window_.knows(view.key);
}

void Tracked::forget_pending(std::uint64_t key) noexcept {
    std::uint64_t* const end = pending_.data() + pending_count_;
    if (std::uint64_t* const at = std::find(pending_.data(), end, key); at != end) {
        *at = end[-1];
        pending_count_--;
    }
}

Tracked::Accepted Tracked::accept(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                                  bool can_wait) noexcept {
    if (rested_) [[unlikely]]
        wake();
    if (member_.token() != looked_) [[unlikely]]
        look_at_chunks();
    const bool whole = heap::Window::is_whole(view);
    heap::Record* r = whole ? nullptr : window_.accept_next(view);
    if (r == nullptr) {
        if (last_try)
            forget_pending(view.key);
        else if (pending_count_ != 0 && is_pending(view.key))
            return {.verdict = Verdict::again};
        else if (!can_wait && may_note(view) && map_.note(view, endpoint))
            return make_pending(view.key);
        if (whole) [[likely]] {
            std::uint64_t offset = 0;
            if (std::byte* const* const base = accept_whole(view, endpoint, offset); base != nullptr)
                [[likely]]
                return {.verdict = Verdict::copy, .base = base, .offset = offset};
        }
        endpoint_ = endpoint;
        last_try_ = last_try;
        can_wait_ = can_wait;
        busy_ = false;
        const heap::Window::Accepted a = window_.accept(view);
        if (a.outcome == heap::Window::kWait) [[unlikely]]
            return busy_ ? make_pending(view.key) : Accepted{.verdict = Verdict::waits};
        if (a.outcome != PacketOutcome::placed || view.payload_length == 0)
            return {.outcome = a.outcome};
        r = a.record;
    }
    return {.verdict = Verdict::copy, .base = &r->base};
}

/// Accepts a heap of one packet, if it is usual and its chunk is open: then it needs no record. Returns the
/// chunk's memory, and sets the heap's offset in it. Returns null when nothing was done, and the window
/// decides. The map's answer is kept for that.
std::byte* const* Tracked::accept_whole(const heap::PacketView& view, std::uint16_t endpoint,
                                        std::uint64_t& offset) noexcept {
    if (!window_.may_pass(view)) [[unlikely]]
        return nullptr;
    HeapSpot spot;
    if (map_.find(view, endpoint, spot) == PacketOutcome::placed) [[likely]]
        if (Chunk* const chunk = place_whole(view, spot); chunk != nullptr) [[likely]] {
            offset = spot.at.offset;
            return &chunk->base;
        }
    map_.keep();
    return nullptr;
}

/// Places a heap of one packet, and returns its chunk. Returns null when that is not simple, and nothing was
/// done.
Chunk* Tracked::place_whole(const heap::PacketView& view, const HeapSpot& spot) noexcept {
    const HeapSpot::Where& at = spot.at;
    Chunk* const chunk = member_.find(at.id);
    if (chunk == nullptr || spot.length != view.heap_length) [[unlikely]]
        return nullptr;
    const std::uint64_t parts = spot.parts != 0 ? spot.parts : chunk->parts_per_heap;
    if (parts != 1 || (chunk->loose && !has_room(*chunk, at, spot, at.heap, parts))) [[unlikely]]
        return nullptr;
    const std::atomic_ref here(chunk->parts[at.heap]);
    const bool is_new = here.load(std::memory_order_relaxed) == 0;
    // A user's presence may have anything in it.
    if (!is_new && !chunk->loose) [[unlikely]]
        return nullptr;
    note_source(view);
    for (std::size_t i = 0; i < spot.extra.size(); i++)
        std::atomic_ref(chunk->extra[at.extra_offset + i]).store(spot.extra[i], std::memory_order_relaxed);
    Chunk::Share& share = chunk->shares[member_.number()];
    if (is_new) {
        here.store(1, std::memory_order_relaxed);
        share.parts++;
    }
    share.packets++;
    share.bytes += view.payload_length;
    share.first = share.first == 0 ? view.arrival : share.first;
    share.last = std::max(share.last, view.arrival);
    member_.used(*chunk);
    window_.pass(view);
    return chunk;
}

/// Notes who sends, of some heaps.
void Tracked::note_source(const heap::PacketView& view) noexcept {
    if (note_turn_.is_due())
        member_.window().note_source(view.source, view.arrival);
    note_turn_.pass();
}

bool Tracked::is_missed(std::uint64_t key) const noexcept {
    const auto* const end = missed_.data() + std::min<std::size_t>(missed_count_, missed_.size());
    return std::find(missed_.data(), end, key) != end;
}

/// Answers for a heap without a chunk.
heap::HeapPlacer::Answer Tracked::missing(Member::Missing why, const heap::PacketView& view) noexcept {
    switch (why) {
        case Member::Missing::late:
            counters_.heaps_late++;
            counters_.late_sources.note(view.source);
            return {.outcome = PacketOutcome::late};
        case Member::Missing::future:
            counters_.future_sources.note(view.source);
            return {.outcome = PacketOutcome::future};
        case Member::Missing::waits:
            map_.keep();
            return {.outcome = heap::Window::kWait};
        case Member::Missing::busy:
            // A source that can wait loses nothing when another lcore takes long.
            if (!can_wait_ && last_try_) {
                // There may be a chunk for its next packet.
                missed_[missed_count_++ % missed_.size()] = view.key;
                return {.outcome = PacketOutcome::no_chunk, .for_all = false};
            }
            map_.keep();
            busy_ = !can_wait_;
            return {.outcome = heap::Window::kWait};
        case Member::Missing::none:
        case Member::Missing::no_chunk:
            break;
    }
    return {.outcome = PacketOutcome::no_chunk};
}

/// Returns the packets of the heap, as far as its first one counts for the others in a vote: they tell no
/// time.
std::uint32_t Tracked::votes_of(const heap::PacketView& view) noexcept {
    constexpr std::uint64_t most = 16;
    if (view.heap_length == heap::kUnknownLength || view.payload_length == 0)
        return 1;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(view.heap_length / view.payload_length, 1, most));
}

heap::HeapPlacer::Answer Tracked::begin(const heap::PacketView& view, std::uint32_t record) noexcept {
    HeapSpot to;
    if (const PacketOutcome outcome = map_.find(view, endpoint_, to); outcome != PacketOutcome::placed) {
        if (is_missed(view.key))
            return {.outcome = PacketOutcome::no_chunk, .for_all = false};
        return {.outcome = outcome, .for_all = outcome != PacketOutcome::no_item};
    }
    note_source(view);
    HeapSpot::Where at = to.at;
    Chunk* chunk = member_.find(at.id);
    if (chunk == nullptr) [[unlikely]] {
        Member::Missing why = Member::Missing::none;
        chunk = member_.open({.id = at.id,
                              .anew = to.anew.id,
                              .source = view.source,
                              .can_wait = can_wait_,
                              .now = view.arrival,
                              .votes = votes_of(view),
                              .begins = to.begins,
                              .was_before = to.was_before,
                              .has_own_place = to.has_own_place},
                             why);
        if (chunk == nullptr)
            return missing(why, view);
        if (chunk->id != at.id)
            at = to.anew;
    }
    // Another heap with this place, or the same one again. Of a heap that two lcores share, each packet
    // comes to one of them.
    const std::uint64_t parts = to.parts != 0 ? to.parts : chunk->parts_per_heap;
    const std::uint64_t first = to.parts != 0 ? at.heap : at.heap * parts;
    if (chunk->loose) [[unlikely]] {
        // A user's presence may have anything in it, and it has an end.
        if (!has_room(*chunk, at, to, first, parts)) {
            counters_.callback.nonsense++;
            return {.outcome = PacketOutcome::rejected};
        }
    } else {
        const std::uint64_t part =
            parts == 1 ? 0 : std::min<std::uint64_t>(view.offset / part_bytes_, parts - 1);
        if (std::atomic_ref(chunk->parts[first + part]).load(std::memory_order_relaxed) != 0)
            return {.outcome = repeated_};
    }
    spots_[record] = {.chunk = chunk, .id = at.id, .first = first, .parts = parts};
    for (std::size_t i = 0; i < to.extra.size(); i++)
        std::atomic_ref(chunk->extra[at.extra_offset + i]).store(to.extra[i], std::memory_order_relaxed);
    Chunk::Share& share = chunk->shares[member_.number()];
    share.first = share.first == 0 ? view.arrival : share.first;
    share.last = std::max(share.last, view.arrival);
    member_.used(*chunk);
    return {.base = chunk->base + at.offset, .length = to.length};
}

void Tracked::end(const heap::Record& r, std::uint32_t record) noexcept {
    if ((r.flags & heap::Record::kRetracted) == 0)
        account(r, spots_[record]);
    spots_[record].chunk = nullptr;
}

void Tracked::set_part(Chunk& chunk, std::uint64_t part) noexcept {
    const std::atomic_ref here(chunk.parts[part]);
    if (here.load(std::memory_order_relaxed) != 0)
        return;
    here.store(1, std::memory_order_relaxed);
    chunk.shares[member_.number()].parts++;
}

/// Marks the parts that lie in the heap's bytes [begin, end).
void Tracked::set_parts(const heap::Record& r, const Spot& spot, std::uint64_t begin,
                        std::uint64_t end) noexcept {
    const std::uint64_t first = (begin + part_bytes_ - 1) / part_bytes_;
    const std::uint64_t past = end == r.length ? (end + part_bytes_ - 1) / part_bytes_ : end / part_bytes_;
    for (std::uint64_t part = first; part < std::min(past, spot.parts); part++)
        set_part(*spot.chunk, spot.first + part);
}

/// Adds to the chunk's books what has arrived of a heap since the last time.
void Tracked::account(const heap::Record& r, Spot& spot) noexcept {
    if (spot.chunk == nullptr || r.packets == spot.packets)
        return;
    Chunk::Share& share = spot.chunk->shares[member_.number()];
    share.packets += r.packets - spot.packets;
    share.bytes += r.coverage.received() - spot.bytes;
    share.last = std::max(share.last, r.last_arrival);
    // The id of a chunk that has left may be of before a jump.
    if (member_.find(spot.id) == spot.chunk)
        member_.used(*spot.chunk);
    spot.packets = r.packets;
    spot.bytes = r.coverage.received();
    if (spot.parts == 1) {
        // Wherever its item pointers point: nobody sees them.
        if (r.coverage.received() == r.length)
            set_part(*spot.chunk, spot.first);
        return;
    }
    if (r.coverage.prefix() != 0)
        set_parts(r, spot, 0, r.coverage.prefix());
    for (const heap::Range& range : r.coverage.ranges())
        set_parts(r, spot, range.begin, range.end);
}

/// Gives up the live heaps of chunks that have left the window.
void Tracked::look_at_chunks() noexcept {
    looked_ = member_.token();
    window_.give_up_if([this](const heap::Record&, std::uint32_t record) {
        Spot& spot = spots_[record];
        if (member_.find(spot.id) == spot.chunk)
            return false;
        // During a rest it may have been handed over.
        if (rested_)
            spot.chunk = nullptr;
        return true;
    });
}

void Tracked::wake() noexcept {
    member_.look();
    look_at_chunks();
    rested_ = false;
}

void Tracked::boundary() noexcept {
    window_.commit();
    note_turn_.begin_batch();
    if (rested_) [[unlikely]]
        wake();
    member_.look();
    if (member_.token() != looked_) [[unlikely]]
        look_at_chunks();
    member_.passed();
}

void Tracked::expire(std::uint64_t now) noexcept {
    if (!rested_)
        window_.each_live(
            [this](const heap::Record& r, std::uint32_t record) { account(r, spots_[record]); });
    window_.expire(now);
}

void Tracked::offline() noexcept {
    if (rested_)
        return;
    window_.each_live([this](const heap::Record& r, std::uint32_t record) { account(r, spots_[record]); });
    rested_ = true;
    looked_ = 0;
    member_.offline();
}

void Tracked::flush(std::uint64_t now) noexcept {
    if (rested_)
        wake();
    window_.flush(now);
}

}  // namespace spead::chunk
