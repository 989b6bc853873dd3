// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "chunk/chunk.hpp"

namespace spead::runtime {

/// Holds when the packets of a chunk came, in nanoseconds since 1970. 0: unknown.
struct ArrivalTimes {
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
};

/// Converts ticks into nanoseconds since 1970. Follows the system's clock, which may be set while packets
/// come: it compares both each second. One thread.
class WallClock {
  public:
    /// Holds both at the same time.
    struct Now {
        std::uint64_t ticks = 0;
        std::int64_t ns = 0;  ///< since 1970
    };

    WallClock();
    /// Asks `look` in place of the machine, for tests. `ns_per_tick`: 0 if it is unknown.
    WallClock(double ns_per_tick, std::function<Now()> look);

    /// Returns the time of some ticks; 0 without ticks, or if their rate is unknown.
    std::int64_t ns_of(std::uint64_t ticks) const;
    ArrivalTimes arrival_of(const chunk::Chunk& chunk) const;

  private:
    double ns_per_tick_;
    std::function<Now()> look_;
    mutable Now known_;
};

}  // namespace spead::runtime
