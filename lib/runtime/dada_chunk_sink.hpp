// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "chunk/placement.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/dada_output.hpp"
#include "sink/missing_heaps.hpp"

namespace spead::runtime {

/// Writes the payload of every chunk to a PSRDADA ring (docs/psrdada.md), with zeros in the places of heaps
/// that did not arrive. A chunk that does not follow the one before it begins a new transfer. A chunk without
/// room is lost, and the sink goes on.
class DadaChunkSink : public ChunkSink {
  public:
    /// Throws Error as sink::DadaWriter, and UsageError for a wrong placement.
    DadaChunkSink(const SinkPlan& plan, const std::string& stream, const chunk::Placement& placement);

    void hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept override;
    /// Writes the chunk, if there is room.
    void consume_chunk(const chunk::Chunk& chunk) override { add(chunk); }
    void finish() override { output_.finish(); }
    Ring ring() const noexcept override { return output_.ring(); }

  private:
    bool add(const chunk::Chunk& chunk);

    sink::MissingHeaps missing_;
    DadaOutput output_;
    std::uint64_t bytes_;  ///< of a chunk
    std::int64_t first_;   ///< number of the chunk at offset 0; below 0: not known yet
    std::chrono::system_clock::time_point start_{};
};

}  // namespace spead::runtime
