// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "chunk/placement.hpp"
#include "runtime/chunk_line.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/raw_outputs.hpp"

namespace spead::runtime {

/// Writes every chunk to DIRECTORY/STREAM.raw, one after the other and past the page cache: its payload,
/// presence, and extra values. Writes the lines of ChunkFileSink to DIRECTORY/chunks.jsonl.
///
/// With several directories, chunks go round them, and each has an index of its own.
///
/// A chunk is given back once it is copied, and settled when the kernel has written it and its line.
class RawChunkSink : public ChunkSink {
  public:
    /// Throws Error as ChunkFileSink.
    RawChunkSink(const std::vector<std::string>& directories, const std::string& stream,
                 const chunk::Placement& placement, const sink::RawWriter::Options& options = {});

    void hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept override;
    void settle() noexcept override { output_.settle(); }
    /// Writes the chunk at once, and waits for that.
    void consume_chunk(const chunk::Chunk& chunk) override;
    void finish() override { output_.finish(); }

  private:
    void add(const chunk::Chunk& chunk, const Settled& settled);

    ChunkLine line_;
    RawOutputs output_;
};

}  // namespace spead::runtime
