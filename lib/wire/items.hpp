// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/flavour.hpp"

/// Converts a heap's item pointers to its items.
namespace spead::wire {

/// Describes one item of a heap: an immediate value, or bytes of the heap's payload.
struct ItemView {
    std::uint64_t id;
    bool immediate;
    std::uint64_t value;   ///< immediate: its value; else 0
    std::uint64_t offset;  ///< addressed: first byte in the heap's payload; else 0
    std::uint64_t length;  ///< addressed: bytes, at least 1, within the payload; else 0

    bool operator==(const ItemView&) const = default;
};

/// Lists the items of a heap into `out`, whose old contents are removed. Addressed items come first by
/// offset, then immediates by value; equal pointers keep their order of arrival.
///
/// `pointers` are raw words in host order, in order of arrival; repetitions count once. `payload_length` is
/// that of the heap. There is no length on the wire: an addressed item extends to the next higher address in
/// use or to the end of the payload. NULLs are left out (an addressed one still ends the item before it), and
/// so are ids 1 to 4 in either mode (they belong to the packets). Addressed items of no length are left out,
/// among them those at or past the end. Of several items with one address the last to arrive has the bytes.
///
/// Returns at most pointers.size() items, so the time and memory are bounded by the input; may throw only
/// std::bad_alloc.
void list_items(std::span<const std::uint64_t> pointers, Flavour flavour, std::uint64_t payload_length,
                std::vector<ItemView>& out);

}  // namespace spead::wire
