// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chunk/chunk.hpp"
#include "chunk/placement.hpp"
#include "stats/axis_presence.hpp"

namespace spead::runtime {

/// Counts the missing heaps of chunks by the places of each axis but the time, so that a sender that is
/// silent shows at once. One thread at a time adds chunks; any thread reads.
class AxisTally {
  public:
    AxisTally() = default;
    /// Takes a placement that has passed check().
    explicit AxisTally(const chunk::Placement& placement);

    /// Adds a chunk that a consumer has taken, unless it is cut. Looks at its `present` if it is incomplete.
    void add(const chunk::Chunk& chunk) noexcept;
    std::vector<stats::AxisPresence> tell() const;

  private:
    struct Entry {
        std::atomic<std::uint64_t> missing{0};
        std::atomic<std::uint64_t> nothing{0};
    };
    struct Axis {
        std::string name;
        std::uint64_t count = 1;
        std::uint64_t number = 0;
        std::uint64_t width = 1;
        std::uint64_t each = 0;
        std::vector<Entry> entries;  ///< none: it is the time, or has one place
        // In the chunk at hand, by entry.
        std::vector<std::uint64_t> now;     ///< missing
        std::vector<std::uint64_t> absent;  ///< of these, heaps of which nothing came
    };

    void note(std::uint64_t heap, bool is_absent) noexcept;
    void count(Axis& axis) noexcept;

    std::vector<Axis> axes_;
    std::size_t packets_per_heap_ = 1;
    std::atomic<std::uint64_t> chunks_{0};
    bool any_missing_ = false;  ///< in the last chunk
};

}  // namespace spead::runtime
