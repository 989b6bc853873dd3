// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"

namespace spead::runtime {

/// Finds the bytes of a chunk that did not arrive, for readers without its presence.
class ChunkGaps {
  public:
    /// Throws UsageError for a wrong placement.
    explicit ChunkGaps(chunk::Placement placement);

    /// Sets the payload of missing heaps and packets to zero. The CPU must be able to write it.
    void clear(const chunk::Chunk& chunk) const;

  private:
    std::uint64_t begin_of(std::size_t heap) const;
    void clear_part(const chunk::Chunk& chunk, std::size_t heap, std::uint64_t first,
                    std::uint64_t last) const;

    chunk::Placement placement_;
    chunk::Layout layout_;
    std::vector<std::uint64_t> strides_;
};

}  // namespace spead::runtime
