// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "base/heap_limits.hpp"
#include "heap/record.hpp"

namespace spead::heap {

/// Item words one heap can hold, whatever it is sent.
inline constexpr std::uint32_t kMaxItems = kMaxHeapItems;

enum class ItemsAdded : std::uint8_t {
    some,  ///< at least one new word
    none,  ///< all were known
    full,  ///< no room; those before it were added
};

/// True if the packet repeats exactly the words the heap began with: the usual case for senders that repeat
/// their item pointers, and the one worth not searching for.
inline bool repeats_items(const Record& r, const PacketView& v) noexcept {
    return v.item_count <= r.item_count && std::memcmp(r.items, v.items, std::size_t{v.item_count} * 8) == 0;
}

/// Bytes of a block for `capacity` words and the index that finds duplicates among them.
constexpr std::size_t item_block_bytes(std::uint32_t capacity) noexcept {
    return std::size_t{capacity} * (8 + 4);
}

/// Adds one word unless the heap has it; `full` when its table has to be enlarged first. While the words are
/// inline they are searched; in a block an open-addressing index of twice their number follows them, so that
/// many items cost the same each.
ItemsAdded add_item_word(Record& r, std::uint64_t word) noexcept;

/// How many entries of the index stand before the one of `word`; for judging the index.
std::uint32_t probes_of(const Record& r, std::uint64_t word) noexcept;

/// Moves the words into `block`, which holds `capacity` of them (a power of two), and indexes them.
void move_items(Record& r, std::byte* block, std::uint32_t capacity) noexcept;

}  // namespace spead::heap
