// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "stats/snapshot.hpp"

/// Derives the counts of a stream with two paths (docs/paths.md). A path's packets = placed + redundant +
/// late
/// + those with the stream's other outcomes.
namespace spead::stats {

/// Returns the packets that came in time by any path, each once.
inline std::uint64_t unique_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t all = 0;
    for (const PathCounters& path : s.paths)
        all += path.placed;
    return all;
}

/// Returns the packets that the other path brought, and this one did not, or too late. One that is on its way
/// counts, too.
inline std::uint64_t missing_packets(const StreamSnapshot& s, std::size_t path) noexcept {
    const std::uint64_t all = unique_packets(s);
    const std::uint64_t own = s.paths[path].placed + s.paths[path].redundant;
    return all > own ? all - own : 0;
}

/// Returns the packets that one path alone brought: without the other one they would have been lost.
inline std::uint64_t recovered_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t all = 0;
    for (std::size_t path = 0; path < kMaxPaths; path++)
        all += missing_packets(s, path);
    return all;
}

}  // namespace spead::stats
