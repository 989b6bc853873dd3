// SPDX-License-Identifier: BSD-3-Clause
#include "wire/items.hpp"

#include <algorithm>
#include <tuple>

namespace spead::wire {

void list_items(std::span<const std::uint64_t> pointers, Flavour flavour, std::uint64_t payload_length,
                std::vector<ItemView>& out) {
    out.clear();
    out.reserve(pointers.size());
    for (std::size_t i = 0; i < pointers.size(); ++i) {
        const std::uint64_t raw = pointers[i];
        const std::uint64_t id = flavour.id(raw);
        if (id >= item::kHeapCnt && id <= item::kPayloadLength)
            continue;
        // Until the lengths are known: `value` is the address too, `offset` the order of arrival.
        out.push_back({.id = id,
                       .immediate = flavour.is_immediate(raw),
                       .value = flavour.value(raw),
                       .offset = i,
                       .length = 0});
    }

    // Repetitions first: in arrival order they could take the bytes from an item at the same address.
    const auto identity = [](const ItemView& v) { return std::tuple(v.immediate, v.value, v.id); };
    std::sort(out.begin(), out.end(), [&](const ItemView& a, const ItemView& b) {
        return std::tuple(identity(a), a.offset) < std::tuple(identity(b), b.offset);
    });
    out.erase(std::unique(out.begin(), out.end(),
                          [&](const ItemView& a, const ItemView& b) { return identity(a) == identity(b); }),
              out.end());
    std::sort(out.begin(), out.end(), [](const ItemView& a, const ItemView& b) {
        return std::tuple(a.immediate, a.value, a.offset) < std::tuple(b.immediate, b.value, b.offset);
    });

    std::size_t kept = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        ItemView view = out[i];
        view.offset = 0;
        if (!view.immediate) {
            const bool has_next = i + 1 < out.size() && !out[i + 1].immediate;
            const std::uint64_t end = has_next ? std::min(out[i + 1].value, payload_length) : payload_length;
            if (view.value >= end)
                continue;
            view.offset = view.value;
            view.length = end - view.offset;
            view.value = 0;
        }
        if (view.id != item::kNull)
            out[kept++] = view;
    }
    out.resize(kept);
}

}  // namespace spead::wire
