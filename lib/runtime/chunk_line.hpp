// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"
#include "runtime/wall_clock.hpp"

namespace spead::runtime {

/// Writes what an index line says of a chunk, and where it is.
class ChunkLine {
  public:
    /// Limits the ranges of missing heaps in a line. With more, only the file says which are missing.
    static constexpr std::size_t kMostRanges = 1024;

    /// Throws UsageError for a wrong placement.
    ChunkLine(std::string stream, const chunk::Placement& placement);

    /// Returns what is known of a chunk without its place, as a line begins.
    nlohmann::ordered_json facts_of(const chunk::Chunk& chunk) const;
    /// Adds the places of a chunk's parts in a file, whose payload begins at `offset`.
    static void add_places(nlohmann::ordered_json& line, const chunk::Chunk& chunk, std::uint64_t offset);
    /// Returns the line, with its newline, of a chunk whose payload, presence and extra values are in the
    /// file from `offset` on.
    std::string of(const chunk::Chunk& chunk, const std::string& file, std::uint64_t offset) const;

    const std::string& placement() const noexcept { return placement_; }

  private:
    std::string stream_;
    std::string placement_;
    std::uint32_t packets_per_heap_;
    WallClock clock_;
};

}  // namespace spead::runtime
