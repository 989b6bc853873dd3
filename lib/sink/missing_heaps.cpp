// SPDX-License-Identifier: BSD-3-Clause
#include "sink/missing_heaps.hpp"

#include <algorithm>
#include <cstring>

namespace spead::sink {

namespace {

/// Repeats an element over a piece, which begins `from` bytes after an element's first byte.
void repeat(std::span<std::byte> piece, std::span<const std::byte> element, std::uint64_t from) noexcept {
    if (std::all_of(element.begin(), element.end(), [&](std::byte b) { return b == element[0]; })) {
        std::memset(piece.data(), std::to_integer<int>(element[0]), piece.size());
        return;
    }
    std::size_t done = std::min(piece.size(), element.size());
    for (std::size_t i = 0; i < done; i++)
        piece[i] = element[(from + i) % element.size()];
    // Whole elements, until the last copy.
    while (done < piece.size()) {
        const std::size_t bytes = std::min(done, piece.size() - done);
        std::memcpy(piece.data() + done, piece.data(), bytes);
        done += bytes;
    }
}

}  // namespace

MissingHeaps::MissingHeaps(const chunk::Placement& placement)
    : placement_(placement), strides_(placement.strides()), layout_(placement.check()) {}

void MissingHeaps::fill(const chunk::Chunk& chunk, std::span<const std::byte> element) const {
    if (chunk.complete())
        return;
    const std::uint64_t packets = layout_.packets_per_heap;
    const std::uint64_t bytes = packets == 1 ? placement_.heap_bytes : placement_.packet_bytes;
    for (std::uint64_t part = 0; part < chunk.present.size(); part++) {
        if (chunk.present[part] != 0)
            continue;
        const std::uint64_t from = part % packets * bytes;
        fill_piece(chunk.data, part / packets, from, std::min(from + bytes, placement_.heap_bytes), element);
    }
}

/// Returns the offset of a heap's first byte.
std::uint64_t MissingHeaps::place_of(std::uint64_t heap) const noexcept {
    std::uint64_t place = 0;
    for (std::size_t axis = strides_.size(); axis-- > 0;) {
        place += heap % placement_.axes[axis].count * strides_[axis];
        heap /= placement_.axes[axis].count;
    }
    return place;
}

/// Fills the bytes of a heap from `from` up to `to`, which may be within several rows.
void MissingHeaps::fill_piece(std::span<std::byte> data, std::uint64_t heap, std::uint64_t from,
                              std::uint64_t to, std::span<const std::byte> element) const {
    const std::uint64_t place = place_of(heap);
    const std::uint64_t row = placement_.rows.bytes == 0 ? placement_.heap_bytes : placement_.rows.bytes;
    while (from < to) {
        const std::uint64_t end = std::min(to, (from / row + 1) * row);
        const std::span<std::byte> piece =
            data.subspan(place + from / row * placement_.rows.stride + from % row, end - from);
        repeat(piece, element, from);
        from = end;
    }
}

}  // namespace spead::sink
