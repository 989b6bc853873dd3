// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_gaps.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spead::runtime {

ChunkGaps::ChunkGaps(chunk::Placement placement)
    : placement_(std::move(placement)), layout_(placement_.check()), strides_(placement_.strides()) {}

void ChunkGaps::clear(const chunk::Chunk& chunk) const {
    if (chunk.complete())
        return;
    const std::size_t packets = layout_.packets_per_heap;
    // With a byte for each heap, that is all of it.
    const std::uint64_t each = packets == 1 ? placement_.heap_bytes : std::uint64_t{placement_.packet_bytes};
    for (std::size_t i = 0; i < chunk.present.size(); i++)
        if (chunk.present[i] == 0)
            clear_part(chunk, i / packets, i % packets * each,
                       std::min(placement_.heap_bytes, (i % packets + 1) * each));
}

/// Returns the place of the heap's first byte.
std::uint64_t ChunkGaps::begin_of(std::size_t heap) const {
    std::uint64_t at = 0;
    for (std::size_t i = placement_.axes.size(); i-- > 0; heap /= placement_.axes[i].count)
        at += heap % placement_.axes[i].count * strides_[i];
    return at;
}

/// Clears the bytes from `first` to `last` of a heap.
void ChunkGaps::clear_part(const chunk::Chunk& chunk, std::size_t heap, std::uint64_t first,
                           std::uint64_t last) const {
    const std::uint64_t begin = begin_of(heap);
    const std::uint64_t row = placement_.rows.bytes == 0 ? placement_.heap_bytes : placement_.rows.bytes;
    while (first < last) {
        const std::uint64_t n = std::min(last - first, row - first % row);
        std::memset(&chunk.data[begin + first / row * placement_.rows.stride + first % row], 0, n);
        first += n;
    }
}

}  // namespace spead::runtime
