// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "chunk/chunk.hpp"

namespace spead::runtime {

/// Holds when the packets of a chunk came, in nanoseconds since 1970. 0: unknown.
struct ArrivalTimes {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
};

/// Converts ticks into nanoseconds since 1970. Not adjusted to later steps of the system's clock.
class WallClock {
  public:
    WallClock();

    /// Returns the time of some ticks; 0 without ticks, or if their rate is unknown.
    std::int64_t ns_of(std::uint64_t ticks) const;
    ArrivalTimes arrival_of(const chunk::Chunk& chunk) const;

  private:
    std::uint64_t ticks_;
    double ns_per_tick_;  ///< 0: unknown
    std::int64_t ns_;
};

}  // namespace spead::runtime
