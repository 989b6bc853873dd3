// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/byte_order.hpp"
#include "heap/heap_handle.hpp"
#include "wire/items.hpp"

namespace spead::runtime {

/// Returns the items of a received heap: addressed ones by offset, then immediates. For an incomplete heap
/// the offsets and lengths are those of the complete one, as far as they lie within its payload.
inline std::vector<wire::ItemView> items_of(const heap::HeapHandle& heap) {
    const auto words = heap.item_words();
    std::vector<std::uint64_t> pointers(words.size());
    std::transform(words.begin(), words.end(), pointers.begin(),
                   [](std::uint64_t w) { return byte_swap(w); });
    std::vector<wire::ItemView> items;
    wire::list_items(pointers, wire::Flavour(heap.flavour()), heap.size(), items);
    return items;
}

}  // namespace spead::runtime
