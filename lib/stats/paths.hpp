// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "stats/snapshot.hpp"

/// Derives the counts of a stream with two paths (docs/paths.md). A path's packets = placed + redundant +
/// repeated + late + control + those with the stream's other outcomes.
namespace spead::stats {

/// Returns the packets that the path brought in time: it was the first, or its copy was known as one. Copies
/// that were forgotten are estimated.
inline std::uint64_t timely_packets(const PathCounters& path) noexcept {
    return path.placed - std::min(path.forgotten, path.placed) + path.control + path.redundant;
}

/// Returns the copies that came too late to be known as copies.
inline std::uint64_t forgotten_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t all = 0;
    for (const PathCounters& path : s.paths)
        all += std::min(path.forgotten, path.placed);
    return all;
}

/// Returns the packets that came in time by any path, each once.
inline std::uint64_t unique_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t all = 0;
    for (const PathCounters& path : s.paths)
        all += path.placed + path.control;
    return all - forgotten_packets(s);
}

/// Returns the packets that the other path brought, and this one did not, or too late. One that is on its way
/// counts, too.
inline std::uint64_t missing_packets(const StreamSnapshot& s, std::size_t path) noexcept {
    const std::uint64_t all = unique_packets(s);
    const std::uint64_t own = timely_packets(s.paths[path]);
    return all > own ? all - own : 0;
}

/// Returns the packets that the other path brought, and this one did not: it has brought later ones, or had
/// the time to bring them. Those before its first packet are not among them.
inline std::uint64_t lost_packets(const StreamSnapshot& s, std::size_t path) noexcept {
    // Copies that were taken for new packets are among those that it has passed.
    const std::uint64_t own = timely_packets(s.paths[path]) + forgotten_packets(s);
    return s.paths[path].passed > own ? s.paths[path].passed - own : 0;
}

/// Returns the packets that came again long after both paths had brought them. Copies of packets from before
/// the counts began are not among them.
inline std::uint64_t renewed_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t redundant = 0;
    // Those that were forgotten may be an estimate: no more copies than packets were placed are expected.
    std::uint64_t expected = unique_packets(s) + forgotten_packets(s);
    for (const PathCounters& path : s.paths) {
        redundant += path.redundant;
        expected += path.awaited_before;
    }
    return redundant > expected ? redundant - expected : 0;
}

/// Returns the name of the path's port, with the path's number if both are on one port.
inline std::string path_name(const StreamSnapshot& s, std::size_t path) {
    const std::string& port = s.path_ports[path];
    return s.path_ports.front() != s.path_ports.back() ? port
                                                       : port + " (path " + std::to_string(path + 1) + ")";
}

/// Returns the packets that one path alone brought: without the other one they would have been lost.
inline std::uint64_t recovered_packets(const StreamSnapshot& s) noexcept {
    std::uint64_t all = 0;
    for (std::size_t path = 0; path < kMaxPaths; path++)
        all += missing_packets(s, path);
    return all;
}

}  // namespace spead::stats
