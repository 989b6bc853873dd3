// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "spead/place_callback.hpp"

namespace spead::test {

/// Puts heap n, by its first item, into chunk n / kHeaps: a place callback made for spead2.
template <std::size_t kHeaps, std::size_t kHeapBytes>
void place_in_turn_of(void* data, std::size_t size) {
    ASSERT_GE(size, sizeof(PlaceData));
    auto& d = *static_cast<PlaceData*>(data);
    if (d.items[0] < 0)
        return;
    const auto n = static_cast<std::uint64_t>(d.items[0]);
    d.chunk_id = static_cast<std::int64_t>(n / kHeaps);
    d.heap_index = n % kHeaps;
    d.heap_offset = n % kHeaps * kHeapBytes;
}

}  // namespace spead::test
