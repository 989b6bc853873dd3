// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/heap_pattern.hpp"
#include "chunk/placement.hpp"
#include "runtime/chunk_sink.hpp"

namespace spead::runtime {

/// Checks every byte of the complete heaps in chunks, and that each heap is in its place.
///
/// If the time of the placement is the heap count, heaps are those of `send --verify`: the verification
/// sequence (base/verify_sequence.hpp). Otherwise they are those of a pattern (base/heap_pattern.hpp), whose
/// payload names them: its items must lead to the heap's place. Logs the first wrong heaps.
class ChunkVerifySink : public ChunkSink {
  public:
    /// Throws UsageError if the placement says too little: with the heap count as the time, no other axis may
    /// have the heap count.
    ChunkVerifySink(std::string stream, chunk::Placement placement);

    void consume_chunk(const chunk::Chunk& chunk) override;

  private:
    /// Holds the numbers along the axes.
    using Place = std::vector<std::uint64_t>;

    std::span<const std::byte> payload_of(const chunk::Chunk& chunk, const Place& place);
    std::string fault_of(const chunk::Chunk& chunk, const Place& place,
                         std::span<const std::byte> heap) const;
    std::string pattern_fault(const chunk::Chunk& chunk, const Place& place,
                              std::span<const std::byte> heap) const;

    std::string stream_;
    chunk::Placement placement_;
    chunk::Layout layout_;
    std::vector<std::uint64_t> strides_;
    std::size_t time_;             ///< index of the time axis
    std::vector<std::byte> rows_;  ///< a heap's rows, joined
};

}  // namespace spead::runtime
