// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/chunk_lane.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "base/error.hpp"
#include "heap/coverage.hpp"

namespace spead::chunk {

namespace {

/// Limits the extra values of a heap, all together.
constexpr std::size_t kMostExtras = Placement::kMaxExtras * 8;
/// Stands for the chunk of a packet before the first one.
constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min() / 2;

/// Returns the bounds of heaps for a placement: they begin with any packet that tells their place.
heap::WindowConfig in_any_order(heap::WindowConfig heaps) {
    heaps.in_order = false;
    return heaps;
}

}  // namespace

ChunkLane::ChunkLane(const Placement& placement, ChunkWindow& window, stats::StreamCounters& counters,
                     bool can_wait, const heap::WindowConfig& heaps)
    : run_(placement),
      placer_(placement),
      rows_(placement.rows),
      member_(window),
      counters_(counters),
      heap_bytes_(placement.heap_bytes),
      times_(placement.axes[placement.time_axis()].count),
      part_bytes_(0),
      repeated_(heaps.repeated()),
      can_wait_(can_wait),
      note_turn_(window.config().max_jump != 0) {
    has_own_places_ = placer_->layout().heaps > times_;
    if (placement.packet_bytes != 0)
        learn_part(placement.packet_bytes);
    if (placement.way == Way::tracked && heap_bytes_ > heap::kMaxHeapBytes)
        throw_usage("chunks",
                    "heaps of {} bytes: tracked ones have at most {}; let every packet have the items",
                    heap_bytes_, heap::kMaxHeapBytes);
    if (placement.way == Way::direct || heap_bytes_ > heap::kMaxHeapBytes) {
        is_direct_ = true;
        note_way();
        return;
    }
    declared_ = std::make_unique<Declared>(*this);
    tracked_ = std::make_unique<Tracked>(in_any_order(heaps), *declared_, part_bytes_, member_, counters_);
    // A stream that moves to this lcore has found its way before.
    if (placement.way == Way::tracked || window.is_tracked()) {
        if (part_bytes_ == 0)
            learn_part(static_cast<std::uint32_t>(heap_bytes_));
        tracked_->set_part_bytes(part_bytes_);
        tracks_ = true;
        note_way();
    }
}

ChunkLane::ChunkLane(const PlaceCallback& callback, ChunkWindow& window, stats::StreamCounters& counters,
                     bool can_wait, const heap::WindowConfig& heaps)
    : member_(window),
      callback_(std::make_unique<CallbackMap>(callback, counters.callback)),
      counters_(counters),
      heap_bytes_(std::uint64_t{callback.packet_bytes} * callback.packets_per_heap),
      times_(1),
      part_bytes_(0),
      repeated_(heaps.repeated()),
      can_wait_(can_wait),
      tracks_(true),
      note_turn_(window.config().max_jump != 0) {
    if (callback.packets_per_heap > 1)
        learn_part(callback.packet_bytes);
    else if (callback.loose)
        part_bytes_ = callback.packet_bytes;
    tracked_ = std::make_unique<Tracked>(heaps, *callback_, part_bytes_, member_, counters_);
    note_way();
}

/// Counts the lane's way, as soon as it is known.
void ChunkLane::note_way() noexcept {
    counters_.goes_tracked = tracks_ ? 1 : 0;
    counters_.goes_direct = is_direct_ && !tracks_ ? 1 : 0;
}

/// Goes over to the tracked way: the packet is in the middle of its heap, and tells nothing.
void ChunkLane::go_over(const heap::PacketView& view) noexcept {
    if (part_bytes_ == 0) {
        const bool last = view.offset + view.payload_length == heap_bytes_;
        learn_part(last || !has_few_parts(view) ? static_cast<std::uint32_t>(heap_bytes_)
                                                : view.payload_length);
    }
    tracked_->set_part_bytes(part_bytes_);
    tracks_ = true;
    member_.window().note_tracked();
    note_way();
}

PacketOutcome ChunkLane::Declared::find(const heap::PacketView& view, std::uint16_t endpoint,
                                        HeapSpot& spot) noexcept {
    if (lane_.member_.newest() != lane_.followed_) [[unlikely]]
        lane_.follow();
    Placer& placer = *lane_.placer_;
    Place place;
    if (const PacketOutcome outcome = placer.place(view, endpoint, place); outcome != PacketOutcome::placed)
        return outcome;
    const std::uint64_t extra_bytes = placer.layout().extra_bytes;
    const auto where = [&](const Placer::Time& time) {
        const std::uint64_t heap = place.heap + time.heap;
        return HeapSpot::Where{time.id, heap, place.offset + time.offset, heap * extra_bytes};
    };
    if (extra_bytes != 0)
        placer.write_extras(view, endpoint, extras_.data());
    const Placer::Time time = lane_.time_of(place);
    const bool is_new = !time.is_first() && lane_.member_.find(time.id) == nullptr;
    spot = {.at = where(time),
            .anew = where(placer.split(place.time)),
            .length = lane_.heap_bytes_,
            .extra = {extras_.data(), extra_bytes},
            .begins = time.is_first(),
            .was_before = is_new && lane_.was_before(time.id, place.heap),
            .has_own_place = lane_.has_own_places_};
    return PacketOutcome::placed;
}

[[gnu::noinline]] ChunkLane::Accepted ChunkLane::accept_tracked(const heap::PacketView& view,
                                                                std::uint16_t endpoint, bool last_try,
                                                                bool can_wait) noexcept {
    const Tracked::Accepted a = tracked_->accept(view, endpoint, last_try, can_wait);
    return {a.verdict, a.base, a.offset + (rows_.bytes == 0 ? view.offset : 0), a.outcome};
}

ChunkLane::Accepted ChunkLane::refuse(PacketOutcome outcome) noexcept {
    counters_[outcome]++;
    return {.outcome = outcome};
}

/// Counts a packet that is cut otherwise than those before.
[[gnu::noinline]] ChunkLane::Accepted ChunkLane::odd(const heap::PacketView& view) noexcept {
    counters_.odd_packet = view.payload_length;
    counters_.usual_packet = part_bytes_;
    return refuse(PacketOutcome::inconsistent);
}

/// Counts a packet that starts or stops the stream.
ChunkLane::Accepted ChunkLane::control(const heap::PacketView& view) noexcept {
    counters_.stop_items += (view.flags & heap::PacketView::kStop) != 0;
    return refuse(PacketOutcome::control);
}

/// Answers for a packet without a chunk.
ChunkLane::Accepted ChunkLane::missing(Member::Missing why, std::uint32_t source, bool last_try,
                                       bool can_wait) noexcept {
    switch (why) {
        case Member::Missing::late:
            counters_.late_sources.note(source);
            return refuse(PacketOutcome::late);
        case Member::Missing::future:
            counters_.future_sources.note(source);
            return refuse(PacketOutcome::future);
        case Member::Missing::busy:
            // A source that can wait loses nothing when another lcore takes long.
            if (can_wait)
                return {.verdict = Verdict::waits};
            return last_try ? refuse(PacketOutcome::no_chunk) : Accepted{.verdict = Verdict::again};
        case Member::Missing::waits:
            return {.verdict = Verdict::waits};
        case Member::Missing::none:
        case Member::Missing::no_chunk:
            break;
    }
    return refuse(PacketOutcome::no_chunk);
}

bool ChunkLane::comes_back() const noexcept {
    const ChunkWindow& window = member_.window();
    return can_wait_ && (window.ring().has_more_than(window.open() - window.retired()) ||
                         window.config().eviction == Eviction::lossless);
}

/// Returns the time nearest to the open chunks that wraps to the packet's. Times before the first one are
/// past any chunk: they are negative, as signed numbers.
std::uint64_t ChunkLane::unwrap(std::uint64_t time) const noexcept {
    const std::uint64_t wrap = placer_->wrap();
    if (wrap == 0 || followed_ < 0)
        return time;
    // The way forward from the newest chunk to the time, below `wrap`.
    const std::uint64_t ahead = time - newest_on_wire_ + (time >= newest_on_wire_ ? 0 : wrap);
    return newest_time_ + ahead - (ahead <= wrap / 2 ? 0 : wrap);
}

/// Returns the chunk and the place of a packet's time.
Placer::Time ChunkLane::time_of(const Place& place) const noexcept {
    const std::uint64_t unwrapped = unwrap(place.time);
    if (static_cast<std::int64_t>(unwrapped) < 0) [[unlikely]]
        return {kBeforeAll, 0, 0};
    return placer_->split(unwrapped);
}

/// Returns whether packets with the place came for one of the chunks before this one that are open: lately,
/// if these have many times. Looks only for a chunk that is the next newest one, and while it is asked for.
/// `place`: of a heap, without its part along the time (Place::heap).
bool ChunkLane::was_before(std::int64_t id, std::uint64_t place) const noexcept {
    constexpr std::uint64_t kTimes = 16;
    constexpr std::uint64_t kParts = 64;
    const std::int64_t chunks = member_.window().config().chunks;
    if (!member_.window().looks_for_senders_ahead() || followed_ < 0 || id <= followed_ ||
        id - followed_ > chunks)
        return false;
    for (std::int64_t before = id - 1; before >= std::max<std::int64_t>(id - chunks, 0); before--) {
        const Chunk* const chunk = member_.find(before);
        if (chunk == nullptr)
            continue;
        for (std::uint64_t back = 1; back <= std::min(times_, kTimes); back++) {
            const std::uint64_t heap = place + placer_->split(first_time_of(before) + times_ - back).heap;
            const std::uint64_t past = (heap + 1) * chunk->parts_per_heap;
            for (std::uint64_t part = past - std::min<std::uint64_t>(chunk->parts_per_heap, kParts);
                 part < std::min<std::uint64_t>(past, chunk->parts.size()); part++)
                if (std::atomic_ref(chunk->parts[part]).load(std::memory_order_relaxed) != 0)
                    return true;
        }
    }
    return false;
}

/// Tells the placer where the open chunks are.
void ChunkLane::follow() noexcept {
    followed_ = member_.newest();
    newest_time_ = first_time_of(std::max<std::int64_t>(followed_, 0));
    newest_on_wire_ = placer_->wrap() == 0 ? 0 : newest_time_ % placer_->wrap();
    placer_->follow(newest_time_);
}

void ChunkLane::learn_part(std::uint32_t bytes) noexcept {
    part_bytes_ = member_.window().agree_on_parts(bytes, heap_bytes_);
    parts_per_heap_ = static_cast<std::uint32_t>((heap_bytes_ + part_bytes_ - 1) / part_bytes_);
}

/// Returns whether a chunk has a byte for each packet of a heap that is cut like this.
bool ChunkLane::has_few_parts(const heap::PacketView& view) const noexcept {
    return (heap_bytes_ + view.payload_length - 1) / view.payload_length <= placer_->layout().most_parts;
}

/// Finds which part of its heap the packet is. Returns false when its heap is cut otherwise than those
/// before.
bool ChunkLane::part_of(const heap::PacketView& view, std::uint64_t& part) noexcept {
    if (part_bytes_ == 0) [[unlikely]] {
        // A heap's last packet may be a short one: it teaches nothing.
        const bool last = view.offset + view.payload_length == heap_bytes_;
        if (last && view.offset != 0)
            return false;
        if (!has_few_parts(view))
            return false;
        learn_part(view.payload_length);
    }
    if (parts_per_heap_ == 1) {
        part = 0;
        return view.offset == 0 && view.payload_length == heap_bytes_;
    }
    part = view.offset / part_bytes_;
    const std::uint64_t begin = part * part_bytes_;
    const std::uint64_t length = std::min<std::uint64_t>(part_bytes_, heap_bytes_ - begin);
    return view.offset == begin && view.payload_length == length;
}

/// Lets the packets that go on like this one have the short way.
void ChunkLane::begin_run(const heap::PacketView& view, Chunk& chunk, const Placer::Time& time) noexcept {
    Chunk::Share& share = chunk.shares[member_.number()];
    // The second packet of a heap decides the way.
    if (!run_.serves() || (tracked_ && !is_direct_) || share.first == 0)
        return;
    // Others may have moved the window since the chunk was opened. Then it lives to the next boundary only.
    if (member_.find(chunk.id) != &chunk)
        return;
    if (member_.newest() != followed_)
        follow();
    // Every time of the chunk is unwrapped alike: it is less than half a wrap from the newest one.
    const auto behind = static_cast<std::uint64_t>(followed_ - chunk.id);
    const std::uint64_t wrap = placer_->wrap();
    if (chunk.id > followed_ || (wrap != 0 && (behind + 1) * times_ > wrap / 2))
        return;
    run_.begin(view, {&chunk, &share, member_.token(), time.heap, part_bytes_, parts_per_heap_});
}

/// Stores the extra values of a heap, whose packets several lcores may have.
void ChunkLane::store_extras(const heap::PacketView& view, std::uint16_t endpoint, std::byte* to) noexcept {
    std::array<std::byte, kMostExtras> values;
    placer_->write_extras(view, endpoint, values.data());
    for (std::uint64_t i = 0; i < placer_->layout().extra_bytes; i++)
        std::atomic_ref(to[i]).store(values[i], std::memory_order_relaxed);
}

ChunkLane::Accepted ChunkLane::accept(const heap::PacketView& view, std::uint16_t endpoint, bool last_try,
                                      bool can_wait) noexcept {
    if (stopped_) [[unlikely]]
        return refuse(PacketOutcome::stopped);
    if (tracks_)
        return accept_tracked(view, endpoint, last_try, can_wait);
    if (!notes_sources()) {
        std::uint64_t offset = 0;
        if (std::byte* const* const base = accept_next(view, offset); base != nullptr)
            return {Verdict::copy, base, offset};
    }
    return accept_anew(view, endpoint, last_try, can_wait);
}

/// Decides about a packet of the direct way, whatever was before it.
ChunkLane::Accepted ChunkLane::accept_anew(const heap::PacketView& view, std::uint16_t endpoint,
                                           bool last_try, bool can_wait) noexcept {
    constexpr std::uint8_t kinds = heap::PacketView::kControl | heap::PacketView::kItems;
    if ((view.flags & kinds) == heap::PacketView::kControl) [[unlikely]]
        return control(view);
    if (member_.newest() != followed_) [[unlikely]]
        follow();
    Place place;
    if (const PacketOutcome outcome = placer_->place(view, endpoint, place); outcome != PacketOutcome::placed)
        [[unlikely]] {
        // A heap that starts or stops the stream needs no place.
        if ((view.flags & heap::PacketView::kControl) != 0)
            return control(view);
        // Heaps of another kind, descriptors for one, say nothing about these.
        const bool may_be_ours = view.heap_length == heap_bytes_ || view.heap_length == heap::kUnknownLength;
        if (outcome != PacketOutcome::no_item || is_direct_ || !tracked_ || !may_be_ours ||
            view.offset == 0 || view.payload_length == 0)
            return refuse(outcome);
        go_over(view);
        return accept_tracked(view, endpoint, last_try, can_wait);
    }
    if (note_turn_.is_due())
        member_.window().note_source(view.source, view.arrival);
    note_turn_.pass();
    std::uint64_t part = 0;
    if (view.payload_length == 0 || !part_of(view, part)) [[unlikely]] {
        // Packets may be too small for a byte each, or a stray one came first: tracked heaps may have any
        // cut.
        if (is_direct_ || !tracked_ || view.payload_length == 0)
            return odd(view);
        go_over(view);
        return accept_tracked(view, endpoint, last_try, can_wait);
    }
    // The first packet of a heap tells nothing about the others.
    if (!is_direct_ && (view.offset != 0 || parts_per_heap_ == 1)) [[unlikely]] {
        is_direct_ = true;
        note_way();
    }
    Placer::Time time = time_of(place);
    Chunk* chunk = member_.find(time.id);
    if (chunk == nullptr) [[unlikely]] {
        const Placer::Time anew = placer_->split(place.time);
        Member::Missing why = Member::Missing::none;
        chunk = member_.open({.id = time.id,
                              .anew = anew.id,
                              .source = view.source,
                              .can_wait = can_wait,
                              .now = view.arrival,
                              .begins = time.is_first() && view.offset == 0,
                              .was_before = was_before(time.id, place.heap),
                              .has_own_place = has_own_places_},
                             why);
        if (chunk == nullptr)
            return missing(why, view.source, last_try, can_wait);
        if (chunk->id != time.id)
            time = anew;
    }
    const std::uint64_t heap = place.heap + time.heap;
    const std::uint64_t index = heap * parts_per_heap_ + part;
    const std::uint64_t begin = place.offset + time.offset;
    const std::uint64_t at = rows().bytes == 0 ? begin + view.offset : begin;
    const std::atomic_ref here(chunk->parts[index]);
    if (here.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        counters_[repeated_]++;
        return {.base = &chunk->base, .offset = at, .outcome = repeated_};
    }
    here.store(1, std::memory_order_relaxed);
    if (part == 0 && placer_->layout().extra_bytes != 0)
        store_extras(view, endpoint, &chunk->extra[heap * placer_->layout().extra_bytes]);
    Chunk::Share& share = chunk->shares[member_.number()];
    share.parts++;
    share.packets++;
    share.bytes += view.payload_length;
    share.first = share.first == 0 ? view.arrival : share.first;
    share.last = view.arrival;
    member_.used(*chunk);
    counters_[PacketOutcome::placed]++;
    counters_.bytes += view.payload_length;
    counters_.stop_items += (view.flags & heap::PacketView::kStop) != 0;
    begin_run(view, *chunk, time);
    return {Verdict::copy, &chunk->base, at};
}

void copy_rows(const memory::PayloadCopy& copy, std::byte* first, const Rows& rows, std::uint64_t at,
               const std::uint8_t* from, std::size_t length) noexcept {
    while (length != 0) {
        const std::uint64_t row = at / rows.bytes;
        const std::uint64_t in_row = at - row * rows.bytes;
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length, rows.bytes - in_row));
        copy(first + row * rows.stride + in_row, from, n);
        at += n;
        from += n;
        length -= n;
    }
}

}  // namespace spead::chunk
