// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "stats/stream_times.hpp"

namespace spead::stats {

/// Holds times in seconds, for display: the counts of a histogram of ticks.
struct Distribution {
    struct Bucket {
        double up_to_s = 0;  ///< the longest time that it counts
        std::uint64_t count = 0;
        bool operator==(const Bucket&) const = default;
    };
    std::uint64_t count = 0;
    double min_s = 0;  ///< 0 without counts, as the next two
    double mean_s = 0;
    double max_s = 0;
    std::vector<Bucket> buckets;  ///< those with counts, shortest first

    /// Returns a time that `percent` (0 to 100) of all did not exceed; at most 12.5 % too long, and never
    /// above max_s.
    double percentile(double percent) const;
};

/// Converts ticks. `hz`: ticks per second, above 0.
Distribution in_seconds(const TickHistogram& ticks, double hz);

}  // namespace spead::stats
