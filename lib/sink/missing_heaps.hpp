// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"

namespace spead::sink {

/// Finds the bytes of a chunk that no packet brought.
class MissingHeaps {
  public:
    /// Takes a placement that was checked.
    explicit MissingHeaps(const chunk::Placement& placement);

    /// Writes `element` again and again over the payload of heaps, or packets, that did not arrive. The
    /// bytes of an element divide those of a heap, and of a row. The caller has the chunk.
    void fill(const chunk::Chunk& chunk, std::span<const std::byte> element) const;

  private:
    void fill_piece(std::span<std::byte> data, std::uint64_t heap, std::uint64_t from, std::uint64_t to,
                    std::span<const std::byte> element) const;
    std::uint64_t place_of(std::uint64_t heap) const noexcept;

    chunk::Placement placement_;
    std::vector<std::uint64_t> strides_;
    chunk::Layout layout_;
};

}  // namespace spead::sink
