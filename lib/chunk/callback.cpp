// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/callback.hpp"

#include <algorithm>
#include <utility>

#include <rte_cycles.h>

#include "base/byte_order.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"

namespace spead::chunk {

namespace {

constexpr std::uint64_t kHeapCountItem = 1;
constexpr std::uint64_t kHeapLengthItem = 2;
constexpr std::uint64_t kPayloadOffsetItem = 3;
constexpr std::uint64_t kPayloadLengthItem = 4;

/// Holds which calls for a single heap are timed: the first ones, then one after 1 to 13, which stands for
/// the others. Reading the clock twice takes longer than a short callback. The step changes each time, as the
/// cost may have any period: that of the heaps of a chunk, or of the senders.
constexpr std::uint64_t kTimed = 64;
constexpr std::uint32_t kMostStep = 13;
/// Holds the cycles of a call that stands for itself only, and after which the next one is timed: one call
/// may have lost its CPU, and of long ones, each can be timed.
constexpr std::uint64_t kLong = 20'000;

/// Returns the immediate value of an item in the packet; -1 if it has none. The first one counts.
std::int64_t value_of(const heap::PacketView& view, std::uint64_t id) {
    if (id == kHeapCountItem)
        return static_cast<std::int64_t>(view.key);
    if (id == kHeapLengthItem)
        return view.heap_length == heap::kUnknownLength ? -1 : static_cast<std::int64_t>(view.heap_length);
    if (id == kPayloadOffsetItem)
        return static_cast<std::int64_t>(view.offset);
    if (id == kPayloadLengthItem)
        return static_cast<std::int64_t>(view.payload_length);
    const unsigned bits = view.flavour;
    const std::uint64_t wanted = (std::uint64_t{1} << 63 >> bits) | id;
    for (std::uint32_t i = 0; i < view.item_count; i++) {
        const std::uint64_t word = load_be64(view.items + std::size_t{i} * 8);
        if (word >> bits == wanted)
            return static_cast<std::int64_t>(word & ((std::uint64_t{1} << bits) - 1));
    }
    return -1;
}

/// Returns whether an earlier packet of the heap may have had an item that this one lacks.
bool may_lack(const std::vector<std::uint64_t>& items, const heap::PacketView& view) {
    return view.offset != 0 && std::any_of(items.begin(), items.end(), [&view](std::uint64_t id) {
               return id > kPayloadLengthItem && value_of(view, id) == -1;
           });
}

}  // namespace

Layout PlaceCallback::layout(const std::string& where) const {
    if (loose)
        return {.heaps = 1, .bytes = Placement::kMaxBytes};
    if (heaps == 0 || heaps > Placement::kMaxHeaps || bytes == 0 || bytes > Placement::kMaxBytes)
        throw_usage(where, "its chunks have {} in {}; give 1 to {} heaps, and 1 to {} bytes",
                    counted(heaps, "heaps"), counted(bytes, "bytes"), Placement::kMaxHeaps,
                    Placement::kMaxBytes);
    if (packets_per_heap == 0 || (packets_per_heap > 1 && packet_bytes == 0))
        throw_usage(where, "{} per heap of {} each; give 1 of any size, or say how large they are",
                    counted(packets_per_heap, "packets"), counted(packet_bytes, "bytes"));
    if (heaps * packets_per_heap > Placement::kMaxPresence)
        throw_usage(where, "{} x {} need {} bytes of presence; a chunk has {} at most",
                    counted(heaps, "heaps"), counted(packets_per_heap, "packets"), heaps * packets_per_heap,
                    Placement::kMaxPresence);
    if (extra_bytes > Placement::kMaxBytes)
        throw_usage(where, "{} bytes of extra values; a chunk has {} at most", extra_bytes,
                    Placement::kMaxBytes);
    return {.heaps = heaps,
            .bytes = bytes,
            .packets_per_heap = packets_per_heap,
            .most_parts = packets_per_heap,
            .extra_bytes = (extra_bytes + heaps - 1) / heaps};
}

CallbackMap::CallbackMap(const PlaceCallback& callback, stats::CallbackCounts& counts)
    : callback_(callback), counts_(counts) {
    const PlaceCallback& c = callback_;
    if (c.function == nullptr)
        throw_usage(PlaceCallback::kWhere, "it has no function");
    if (c.items.size() > PlaceCallback::kMaxItems)
        throw_usage(PlaceCallback::kWhere, "{} items: it may ask for {}", c.items.size(),
                    PlaceCallback::kMaxItems);
    static_cast<void>(c.layout());
    if (c.most_extra > PlaceCallback::kMaxExtra || (c.most_extra > c.extra_bytes && !c.loose))
        throw_usage(PlaceCallback::kWhere, "{} extra bytes for a heap: a chunk has {}, and a heap at most {}",
                    c.most_extra, c.extra_bytes, PlaceCallback::kMaxExtra);
    values_.resize((kBatch + 1) * c.items.size());
    extras_.resize((kBatch + 1) * c.most_extra);
}

/// Writes what the callback is told of a heap.
void CallbackMap::describe(std::size_t at, const heap::PacketView& view, std::uint16_t endpoint) noexcept {
    std::int64_t* const values = values_.data() + at * callback_.items.size();
    for (std::size_t i = 0; i < callback_.items.size(); i++)
        values[i] = value_of(view, callback_.items[i]);
    starts_[at] = {view.key, view.heap_length, view.arrival, values, view.source, endpoint};
    places_[at] = ChunkPlace{};
    places_[at].extra = extras_.data() + at * callback_.most_extra;
}

bool CallbackMap::note(const heap::PacketView& view, std::uint16_t endpoint) noexcept {
    // The window may refuse heaps that begin with a later packet.
    if (view.heap_length == heap::kUnknownLength || view.offset != 0)
        return false;
    kept_ = false;
    // Heaps that are left were refused by the window, before or after they were asked for.
    if (std::exchange(asked_, false) || count_ == kBatch)
        count_ = 0;
    describe(count_++, view, endpoint);
    return true;
}

void CallbackMap::ask(std::size_t first, std::size_t count) noexcept {
    const std::span<const HeapStart> starts(starts_.data() + first, count);
    const std::span<ChunkPlace> places(places_.data() + first, count);
    const bool is_sampled = count == 1 && counts_.calls >= kTimed && !was_long_;
    counts_.calls++;
    counts_.heaps += count;
    if (is_sampled && untimed_ < untimed_most_) {
        untimed_++;
        return callback_.function(callback_.user, starts, places);
    }
    const std::uint64_t before = rte_rdtsc();
    callback_.function(callback_.user, starts, places);
    const std::uint64_t took = rte_rdtsc() - before;
    was_long_ = took > kLong;
    counts_.cycles += took;
    if (!is_sampled)
        return;
    untimed_most_ = next_step() - 1;
    if (!was_long_)
        counts_.cycles += took * std::exchange(untimed_, 0);
}

/// Returns a number of 1 to kMostStep: a linear congruential generator, of which the upper bits count.
std::uint32_t CallbackMap::next_step() noexcept {
    steps_ = steps_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>((steps_ >> 32) * kMostStep >> 32) + 1;
}

bool CallbackMap::is(std::size_t at, const heap::PacketView& view) const noexcept {
    return starts_[at].count == view.key && starts_[at].bytes == view.heap_length;
}

PacketOutcome CallbackMap::find(const heap::PacketView& view, std::uint16_t endpoint,
                                HeapSpot& spot) noexcept {
    if (view.heap_length == heap::kUnknownLength)
        return PacketOutcome::bad_length;
    // A source that waits offers its packet again at every poll.
    if (std::exchange(kept_, false) && is(last_, view)) {
        spot = last_spot_;
        return last_outcome_;
    }
    for (std::size_t i = 0; i < count_; i++) {
        if (!is(i, view))
            continue;
        if (!std::exchange(asked_, true))
            ask(0, count_);
        return answer(i, spot);
    }
    if (may_lack(callback_.items, view))
        return PacketOutcome::no_item;
    describe(kBatch, view, endpoint);
    ask(kBatch, 1);
    return answer(kBatch, spot);
}

/// Returns the callback's answer, and notes it: it may be asked for again.
PacketOutcome CallbackMap::answer(std::size_t at, HeapSpot& spot) noexcept {
    last_ = at;
    last_outcome_ = check(at, spot);
    last_spot_ = spot;
    return last_outcome_;
}

/// Checks a place, whatever the callback answered.
PacketOutcome CallbackMap::check(std::size_t at, HeapSpot& spot) noexcept {
    const PlaceCallback& c = callback_;
    const ChunkPlace& p = places_[at];
    const std::uint64_t length = starts_[at].bytes;
    if (p.chunk < 0) {
        counts_.rejected++;
        return PacketOutcome::rejected;
    }
    const HeapSpot::Where where{p.chunk, p.heap, p.offset, p.extra_at};
    // Not by p.extra, which the callback may have changed.
    const std::byte* const extra = extras_.data() + at * c.most_extra;
    if (c.loose && p.extra_size <= c.most_extra) {
        const std::uint64_t packets =
            c.packet_bytes == 0 ? 0 : (std::max<std::uint64_t>(length, 1) - 1) / c.packet_bytes + 1;
        spot = {where, where, length, {extra, p.extra_size}, packets};
        return PacketOutcome::placed;
    }
    const bool fits =
        !c.loose && p.heap < c.heaps && length <= c.bytes && p.offset <= c.bytes - length &&
        p.extra_size <= c.most_extra && p.extra_at <= c.extra_bytes - p.extra_size &&
        (c.packets_per_heap == 1 || length <= std::uint64_t{c.packets_per_heap} * c.packet_bytes);
    if (!fits) {
        counts_.nonsense++;
        return PacketOutcome::rejected;
    }
    spot = {where, where, length, {extra, p.extra_size}};
    return PacketOutcome::placed;
}

}  // namespace spead::chunk
