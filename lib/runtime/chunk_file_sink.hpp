// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "chunk/placement.hpp"
#include "runtime/chunk_line.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/lines_file.hpp"
#include "runtime/output_directory.hpp"

namespace spead::runtime {

/// Writes every chunk to DIRECTORY/STREAM-chunk-ID.bin: its payload, presence, and extra values. Writes one
/// line of JSON per chunk to DIRECTORY/chunks.jsonl, which says where in the file they are, and which heaps
/// are missing.
///
/// Overwrites no file, and shares directories, as FileSink does. The file is complete before its line is
/// written. When the disk is full, the incomplete file or line is removed; Error tells how much was written.
class ChunkFileSink : public ChunkSink {
  public:
    /// Throws Error as OutputDirectory, and UsageError for a wrong placement.
    ChunkFileSink(const std::string& directory, std::string stream, const chunk::Placement& placement);

    void consume_chunk(const chunk::Chunk& chunk) override;

    /// Returns the path of the file of lines in a directory.
    static std::string lines_path(const std::string& directory) { return directory + "/chunks.jsonl"; }

  private:
    [[noreturn]] void fail(const std::string& name, int error) const;

    std::string stream_;
    ChunkLine line_;
    OutputDirectory directory_;
    LinesFile lines_;
    std::uint64_t files_ = 0;
    std::uint64_t bytes_ = 0;  ///< in the files
};

}  // namespace spead::runtime
