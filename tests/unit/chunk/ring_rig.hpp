// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk/chunk_ring.hpp"

/// Makes chunks over memory of the test's.
namespace spead::chunk::test {

/// Returns that of four heaps of 16 bytes, of up to four packets, with two extra bytes each.
inline Layout small_layout() {
    return {.heaps = 4, .bytes = 64, .packets_per_heap = 1, .most_parts = 4, .extra_bytes = 2};
}

/// Holds a ring of `count` chunks and their memory.
struct RingOfChunks {
    explicit RingOfChunks(std::size_t count, const Layout& layout = small_layout())
        : data(count, std::vector<std::byte>(layout.bytes)),
          present(count, std::vector<std::uint8_t>(layout.present_bytes(), 9)),
          extra(count, std::vector<std::byte>(layout.heaps * layout.extra_bytes)),
          ring(count) {
        for (std::size_t i = 0; i < count; i++)
            ring.add(layout, data[i], present[i], extra[i]);
    }

    std::vector<std::vector<std::byte>> data;
    std::vector<std::vector<std::uint8_t>> present;
    std::vector<std::vector<std::byte>> extra;
    ChunkRing ring;
};

}  // namespace spead::chunk::test
