// SPDX-License-Identifier: BSD-3-Clause
/// Makes room for heaps, for their item pointers and ranges, and for growth beyond their first block. Decides
/// the outcome of packets without room.
#include <algorithm>
#include <bit>
#include <cstring>

#include "heap/window.hpp"

namespace spead::heap {

namespace {

/// Limits the first block of a heap of unknown length that can grow.
constexpr std::uint64_t kFirstBlock = std::uint64_t{64} << 10;

}  // namespace

std::uint16_t Window::packets_with_room() noexcept {
    if (!is_short())
        return kMaxBatch;
    reclaim();
    const std::size_t blocks = last_block_ == 0 ? kMaxBatch : placer_.available() / last_block_;
    const auto room = static_cast<std::uint16_t>(std::min({kMaxBatch, blocks, std::size_t{free_count_}}));
    return room != 0 ? room : has_ended() || !queue_->empty() ? 0 : 1;
}

/// Returns whether a waiting packet is to wait further. If only consumers could give room, one who asks for
/// the next heap before he gives the last one back would wait, too: heaps whose time is over end for the
/// packet. The memory of consumers is waited for only where it would be enough.
bool Window::is_worth_waiting() noexcept {
    reclaim();
    if (has_ended() || !queue_->empty())
        return true;
    if (heaps_elsewhere() == 0)
        return false;
    for (Substream& s : substreams_)
        if (evict_due(s, true))
            return true;
    return free_count_ == 0 || placer_.out() - live_bytes_ >= missing_;
}

/// Returns the outcome of a packet for which its heap's books could not be enlarged.
Window::Accepted Window::cannot_grow(Grown why) noexcept {
    if (why == Grown::no_memory && may_wait())
        return {kWait, nullptr};
    counters_.packets_at_limit += why == Grown::at_limit;
    return {PacketOutcome::no_memory, nullptr};
}

/// Returns a block for the books of `r`; reclaims consumers' heaps only when necessary.
memory::Block Window::take_books(const Record& r, std::size_t bytes) noexcept {
    memory::Block block = books_.take(bytes);
    if (!block) {
        reclaim();
        block = books_.take(bytes);
        missing_ = 0;
    }
    // A placer has to hear of a ghost's end first.
    for (std::uint32_t tries = 0; !block && heap_placer_ == nullptr && config_.guarded && !may_wait() &&
                                  tries < kGhostTries && drop_ghost(bytes, false, Short::books, &r);
         tries++)
        block = books_.take(bytes);
    return block;
}

/// Returns the bytes for a new heap. If its length is unknown, it gets a fair amount, so that the others find
/// room too.
std::size_t Window::wanted(const PacketView& v) const noexcept {
    if (v.heap_length != kUnknownLength) [[likely]]
        return v.heap_length;
    const std::uint64_t least = std::max<std::uint64_t>(v.end(), 1);
    std::uint64_t share = std::bit_floor(placer_.quota() / room_for(config_.live_capacity(), 1));
    // Where it can grow, most need less: consumers and heaps in doubt leave less than they were counted with.
    if (config_.lends && grows())
        share = std::min(share, kFirstBlock);
    return std::clamp(share, least, std::max(least, config_.max_heap_bytes));
}

/// Returns a block for a new heap, if there is a record for it too.
memory::Block Window::place(const PacketView& v) noexcept {
    if (free_count_ == 0) [[unlikely]]
        return {};
    if (counters_.heaps_live > config_.live_capacity() && is_in_excess(wanted(v))) [[unlikely]]
        return {};
    if (v.heap_length != kUnknownLength) [[likely]]
        return placer_.place(v.heap_length);
    return placer_.place_between(std::max<std::uint64_t>(v.end(), 1), wanted(v));
}

/// Returns whether more heaps are live than could be if all were genuine. Another one then leaves as much as
/// it takes, so that large claims do not keep small ones away.
bool Window::is_in_excess(std::size_t bytes) const noexcept {
    return placer_.available() < 2 * bytes;
}

/// Returns a block for a heap that begins without free memory, at the cost of ghosts. A lossless stream first
/// gives up claims larger than the heap, and then the heap that would be next if only the order counted. The
/// memory of that heap comes back later, which is to be waited for (`waits`).
memory::Block Window::find_place(const PacketView& v, bool& waits) noexcept {
    const bool lossless = config_.on_full == FullPolicy::block && placer_.quota() != 0;
    const std::size_t bytes = wanted(v);
    for (const bool larger : {true, false}) {
        if (larger != lossless && larger)
            continue;
        if (!larger && lossless && evict_due(substream_of(v.key), true)) {
            waits = true;
            return {};
        }
        for (std::uint32_t tries = 0; tries < kGhostTries && drop_ghost(bytes, larger, Short::payload);
             tries++)
            if (const memory::Block block = place(v))
                return block;
    }
    return {};
}

Window::Grown Window::reserve_items(Record& r, std::uint32_t more) noexcept {
    if (more > kMaxItems || r.item_count + more > kMaxItems)
        return Grown::at_limit;
    const std::uint32_t need = r.item_count + more;
    if (need <= r.item_capacity)
        return Grown::yes;
    const std::uint32_t capacity = std::max(std::uint32_t{64}, std::bit_ceil(need));
    const memory::Block block = take_books(r, item_block_bytes(capacity));
    if (!block)
        return Grown::no_memory;
    move_items(r, block.base, capacity);
    if (r.item_block)
        books_.give_back(r.item_block);
    r.item_block = block;
    return Grown::yes;
}

Window::Grown Window::grow_ranges(Record& r) noexcept {
    const std::uint32_t capacity = std::min(r.coverage.capacity() * 8, kMaxRanges);
    if (capacity == r.coverage.capacity())
        return Grown::at_limit;
    const memory::Block block = take_books(r, std::size_t{capacity} * sizeof(Range));
    if (!block)
        return Grown::no_memory;
    r.coverage.move_to(reinterpret_cast<Range*>(block.base), capacity);
    if (r.range_block)
        books_.give_back(r.range_block);
    r.range_block = block;
    return Grown::yes;
}

/// Makes room for `bytes` of a heap whose length was unknown when it began. A stream that may not lose the
/// rest of it moves it to a larger block; copies of this batch find it there. Those of an engine would not,
/// and its memory may be none that the CPU reads.
Window::Grown Window::grow_payload(Record& r, std::uint64_t bytes) noexcept {
    const std::uint64_t capacity = placer_.capacity(r.payload);
    if (bytes <= capacity)
        return Grown::yes;
    if (!grows())
        return config_.on_full != FullPolicy::block ? Grown::no_memory : Grown::at_limit;
    const std::uint64_t most = std::clamp(2 * capacity, bytes, std::max(bytes, config_.max_heap_bytes));
    memory::Block block = placer_.place_between(bytes, most);
    if (!block) {
        reclaim();
        block = placer_.place_between(bytes, most);
    }
    if (!block) {
        missing_ = bytes;
        return Grown::no_memory;
    }
    std::memcpy(block.base, r.base, r.coverage.extent());
    live_bytes_ += placer_.capacity(block) - capacity;
    placer_.release(r.payload);
    r.payload = block;
    r.base = block.base;
    return Grown::yes;
}

/// Handles a packet whose length differs from the heap's: it is the first with one, has none, or contradicts.
PacketOutcome Window::adopt_length(Record& r, const PacketView& v) noexcept {
    if (v.heap_length == kUnknownLength && r.length != kUnknownLength)
        return v.end() <= r.length ? PacketOutcome::placed : PacketOutcome::inconsistent;
    if (r.length != kUnknownLength || v.heap_length < r.coverage.extent())
        return PacketOutcome::inconsistent;
    const bool announced = v.heap_length != kUnknownLength;
    if (const Grown grown = grow_payload(r, announced ? v.heap_length : v.end()); grown != Grown::yes)
        return cannot_grow(grown).outcome;
    r.length = v.heap_length;
    return PacketOutcome::placed;
}

}  // namespace spead::heap
