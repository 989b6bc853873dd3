// SPDX-License-Identifier: BSD-3-Clause
#include "stats/distribution.hpp"

#include <algorithm>

namespace spead::stats {

double Distribution::percentile(double percent) const {
    // 99.99 % of 10000 is 9999, and a little more in binary fractions.
    const double wanted = static_cast<double>(count) * std::clamp(percent, 0.0, 100.0) / 100 * (1 - 1e-12);
    std::uint64_t seen = 0;
    for (const Bucket& b : buckets) {
        seen += b.count;
        if (static_cast<double>(seen) >= wanted)
            return std::min(b.up_to_s, max_s);
    }
    return max_s;
}

Distribution in_seconds(const TickHistogram& ticks, double hz) {
    Distribution d;
    d.count = ticks.count();
    d.min_s = static_cast<double>(ticks.min()) / hz;
    d.mean_s = ticks.mean() / hz;
    d.max_s = static_cast<double>(ticks.max()) / hz;
    for (const TickHistogram::Bucket& b : ticks.buckets())
        d.buckets.push_back({static_cast<double>(b.highest) / hz, b.count});
    return d;
}

}  // namespace spead::stats
