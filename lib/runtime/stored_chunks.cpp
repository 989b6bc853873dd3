// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_chunks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"
#include "runtime/stored_files.hpp"

namespace spead::runtime {

StoredChunks::StoredChunks(std::unique_ptr<ChunkList> chunks, wire::Flavour flavour)
    : chunks_(std::move(chunks)), flavour_(flavour) {}

void StoredChunks::take_placement() {
    const chunk::Placement& placement = chunk_.placement;
    // Until all of it is taken, there is none: a list that failed may be read once more.
    origins_.reset();
    layout_ = placement.check();
    if (placement.heap_bytes > kMostBytes)
        chunks_->fail(fmt::format("its heaps have {}, more than {}", human_size(placement.heap_bytes),
                                  human_size(kMostBytes)));
    strides_ = placement.strides();
    order_.assign(1, placement.time_axis());
    for (std::size_t i = 0; i < placement.axes.size(); i++)
        if (i != order_.front())
            order_.push_back(i);
    const auto reads = [&](std::uint64_t id) {
        const auto is_it = [&](const auto& part) {
            return part.term.kind == chunk::Term::Kind::item && part.term.id == id;
        };
        return std::any_of(placement.axes.begin(), placement.axes.end(), is_it) ||
               std::any_of(placement.extras.begin(), placement.extras.end(), is_it);
    };
    payload_item_ = kPayloadItem;
    while (reads(payload_item_))
        payload_item_++;
    origins_.emplace(placement);
}

/// Goes to the next place of the chunk. Returns false behind the last one.
bool StoredChunks::step() {
    for (std::size_t i = order_.size(); i-- > 0;) {
        const std::size_t axis = order_[i];
        if (++places_[axis] < chunk_.placement.axes[axis].count)
            return true;
        places_[axis] = 0;
    }
    return false;
}

/// Returns the number of the heap at places_ in the chunk's presence.
std::uint64_t StoredChunks::number_of_place() const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < places_.size(); i++)
        number = number * chunk_.placement.axes[i].count + places_[i];
    return number;
}

/// Returns whether all of the heap came. Counts it if not.
bool StoredChunks::is_whole(std::uint64_t place) {
    const auto packets = std::span<const std::byte>(chunk_.presence)
                             .subspan(place * layout_.packets_per_heap, layout_.packets_per_heap);
    const bool whole = std::find(packets.begin(), packets.end(), std::byte{0}) == packets.end();
    incomplete_ += whole ? 0 : 1;
    return whole;
}

void StoredChunks::describe(StoredHeap& heap, std::uint64_t place) {
    std::span<const std::byte> extra(chunk_.extra);
    extra = extra.subspan(place * layout_.extra_bytes, layout_.extra_bytes);
    const std::optional<chunk::HeapOrigin> origin = origins_->of(chunk_.id, places_, extra);
    if (!origin)
        throw IndexFault{fmt::format("no packet has the place of heap {}", place)};
    heap.where = fmt::format("heap {} of chunk {}", place, chunk_.id);
    heap.stream = chunk_.stream;
    heap.cnt = origin->cnt ? *origin->cnt : counted_ % flavour_.value_mask() + 1;
    heap.endpoint.reset();
    if (origin->endpoint || chunk_.endpoint > 0)
        heap.endpoint = chunk_.endpoint + origin->endpoint.value_or(0);
    heap.bytes = chunk_.placement.heap_bytes;
    heap.items.assign(1, {payload_item_, false, 0, 0, heap.bytes});
    for (const chunk::HeapOrigin::Item& item : origin->items)
        heap.items.push_back({item.id, true, item.value, 0, 0});
    heap.offset = 0;
    for (std::size_t i = 0; i < places_.size(); i++)
        heap.offset += places_[i] * strides_[i];
    check_bits(heap, flavour_);
    if (checks_ && origin->cnt)
        counts_.push_back(heap.cnt);
    counted_++;
}

/// Refuses a chunk of which two heaps have the same count: a receiver would take them for one.
void StoredChunks::check_counts() {
    std::sort(counts_.begin(), counts_.end());
    const auto twice = std::adjacent_find(counts_.begin(), counts_.end());
    if (twice != counts_.end())
        chunks_->fail(
            fmt::format("two heaps have the count {}, as the placement reads a part of it only", *twice));
    counts_.clear();
}

bool StoredChunks::next(StoredHeap& heap) {
    for (;;) {
        if (has_chunk_) {
            has_chunk_ = step();
        } else {
            check_counts();
            if (!chunks_->next(chunk_))
                return false;
            if (!chunk_.same_placement || !origins_)
                take_placement();
            places_.assign(chunk_.placement.axes.size(), 0);
            has_chunk_ = true;
        }
        if (!has_chunk_)
            continue;
        const std::uint64_t place = number_of_place();
        if (!is_whole(place))
            continue;
        try {
            describe(heap, place);
        } catch (const IndexFault& fault) {
            chunks_->fail(fault.what);
        }
        return true;
    }
}

void StoredChunks::rewind() {
    chunks_->rewind();
    has_chunk_ = false;
    counted_ = incomplete_ = 0;
    counts_.clear();
}

StoredStream::Sum StoredChunks::check() {
    Sum sum;
    StoredHeap heap;
    rewind();
    checks_ = true;
    while (next(heap)) {
        if (sum.heaps > 0 && heap.stream != sum.stream)
            chunks_->fail(
                fmt::format("there are chunks of two streams, `{}` and `{}`; give the file of one "
                            "(DIR/{}.raw), or write streams to directories of their own",
                            printable(sum.stream), printable(heap.stream), printable(sum.stream)));
        sum.stream = heap.stream;
        sum.heaps++;
        sum.largest = std::max(sum.largest, heap.bytes);
    }
    checks_ = false;
    sum.incomplete = incomplete_;
    rewind();
    if (sum.heaps == 0)
        throw_error(chunks_->path(), "there is no chunk with a complete heap");
    return sum;
}

void StoredChunks::read(const StoredHeap& heap, std::span<std::byte> to) {
    to = to.first(heap.bytes);
    const chunk::Rows& rows = chunk_.placement.rows;
    const std::uint64_t piece = rows.bytes == 0 ? heap.bytes : rows.bytes;
    for (std::uint64_t i = 0; i * piece < heap.bytes; i++)
        chunks_->read(heap.offset + i * rows.stride, to.subspan(i * piece, piece));
}

std::string StoredChunks::left_out(const Sum& sum) const {
    return fmt::format("{} of the chunks in {} did not come whole, and {} left out",
                       counted(sum.incomplete, "heaps"), chunks_->path(),
                       word_for(sum.incomplete, "is", "are"));
}

}  // namespace spead::runtime
