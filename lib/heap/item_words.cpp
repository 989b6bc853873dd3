// SPDX-License-Identifier: BSD-3-Clause
#include "heap/item_words.hpp"

#include <algorithm>

#include "heap/secret.hpp"

namespace spead::heap {

namespace {

/// Holds the index after the words of a block: entry = place of the word + 1, or 0. Places fit 16 bits
/// (kMaxItems).
struct Index {
    std::uint16_t* entries;
    std::uint32_t mask;

    Index(std::uint64_t* words, std::uint32_t capacity)
        : entries(reinterpret_cast<std::uint16_t*>(words + capacity)), mask(capacity * 2 - 1) {}

    /// Returns the first entry for a word. Words differ in their top bits (ids), their low bits (addresses)
    /// or both, by constant steps. All of these must affect the used bits, and steps must be scattered.
    std::uint32_t home(std::uint64_t word) const {
        std::uint64_t x = word ^ hash_secret();
        x = (x ^ x >> 32) * hash_secret();
        x = (x ^ x >> 29) * 0x94d049bb133111ebU;
        return static_cast<std::uint32_t>(x >> 40) & mask;
    }

    /// Returns the entry of `word`, or the one where it would be entered.
    std::uint16_t* slot(const std::uint64_t* words, std::uint64_t word) const {
        std::uint32_t i = home(word);
        while (entries[i] != 0 && words[entries[i] - 1] != word)
            i = (i + 1) & mask;
        return &entries[i];
    }
};

static_assert(kMaxItems < 65535);

}  // namespace

std::uint32_t probes_of(const Record& r, std::uint64_t word) noexcept {
    if (!r.item_block)
        return 0;
    const Index index(r.items, r.item_capacity);
    const auto at = static_cast<std::uint32_t>(index.slot(r.items, word) - index.entries);
    return (at - index.home(word)) & index.mask;
}

ItemsAdded add_item_word(Record& r, std::uint64_t word) noexcept {
    if (!r.item_block) {
        if (std::find(r.items, r.items + r.item_count, word) != r.items + r.item_count)
            return ItemsAdded::none;
        if (r.item_count == r.item_capacity)
            return ItemsAdded::full;
        r.items[r.item_count++] = word;
        return ItemsAdded::some;
    }
    std::uint16_t* const slot = Index(r.items, r.item_capacity).slot(r.items, word);
    if (*slot != 0)
        return ItemsAdded::none;
    if (r.item_count == r.item_capacity)
        return ItemsAdded::full;
    r.items[r.item_count++] = word;
    *slot = static_cast<std::uint16_t>(r.item_count);
    return ItemsAdded::some;
}

void move_items(Record& r, std::byte* block, std::uint32_t capacity) noexcept {
    auto* const words = reinterpret_cast<std::uint64_t*>(block);
    std::copy(r.items, r.items + r.item_count, words);
    const Index index(words, capacity);
    std::fill(index.entries, index.entries + index.mask + 1, std::uint16_t{0});
    for (std::uint32_t i = 0; i < r.item_count; i++)
        *index.slot(words, words[i]) = static_cast<std::uint16_t>(i + 1);
    r.items = words;
    r.item_capacity = static_cast<std::uint16_t>(capacity);
}

}  // namespace spead::heap
