// SPDX-License-Identifier: BSD-3-Clause
#include "heap/books.hpp"

#include <algorithm>
#include <bit>

#include "heap/coverage.hpp"
#include "heap/item_words.hpp"
#include "memory/poison.hpp"

namespace spead::heap {

namespace {

constexpr std::size_t kLargest =
    std::bit_ceil(std::max(item_block_bytes(kMaxItems), kMaxRanges * sizeof(Range)));
/// Holds the bytes of a heap with as many items and ranges as it may have.
constexpr std::size_t kFullBooks = kLargest + kMaxRanges * sizeof(Range);
/// Holds the bytes that each heap may have on average, whatever the others have.
constexpr std::size_t kFew = 512;

}  // namespace

std::size_t Books::bytes_for(std::size_t live, std::size_t records) noexcept {
    // Books that grow need the smaller block until the larger one is written.
    return memory::Arena::capacity_for(
        std::clamp<std::size_t>(live, 1, kFull) * kFullBooks + kLargest + records * kFew, kLargest);
}

Books::Books(std::size_t bytes)
    : memory_(memory::Arena::capacity_for(bytes, kLargest) / sizeof(Line)),
      arena_({memory_.front().bytes.data(), memory_.size() * sizeof(Line)}, kLargest) {}

Books::~Books() {
    memory::unpoison(memory_.data(), memory_.size() * sizeof(Line));
}

}  // namespace spead::heap
