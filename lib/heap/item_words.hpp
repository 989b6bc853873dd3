// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "base/heap_limits.hpp"
#include "heap/record.hpp"

namespace spead::heap {

/// Limits the item words of one heap, whatever its packets carry.
inline constexpr std::uint32_t kMaxItems = kMaxHeapItems;

enum class ItemsAdded : std::uint8_t {
    some,  ///< at least one new word
    none,  ///< all were known
    full,  ///< no room; those before it were added
};

/// Returns whether the packet repeats exactly the first words of the heap. That is the usual case for senders
/// that repeat their item pointers, and saves the search.
inline bool repeats_items(const Record& r, const PacketView& v) noexcept {
    return v.item_count <= r.item_count && std::memcmp(r.items, v.items, std::size_t{v.item_count} * 8) == 0;
}

/// Returns the bytes of a block for `capacity` words and the index that finds duplicates among them.
constexpr std::size_t item_block_bytes(std::uint32_t capacity) noexcept {
    return std::size_t{capacity} * (8 + 4);
}

/// Adds one word unless the heap has it. Returns `full` when its table has to be enlarged first. Inline words
/// are searched one by one. In a block an open-addressing index of twice their number follows them, so that
/// the cost per item does not grow.
ItemsAdded add_item_word(Record& r, std::uint64_t word) noexcept;

/// Returns how many entries of the index come before the one of `word`; for judging the index.
std::uint32_t probes_of(const Record& r, std::uint64_t word) noexcept;

/// Moves the words into `block`, which holds `capacity` of them (a power of two), and indexes them.
void move_items(Record& r, std::byte* block, std::uint32_t capacity) noexcept;

}  // namespace spead::heap
