// SPDX-License-Identifier: BSD-3-Clause
#include "observe/time_histogram.hpp"

#include <cstdint>

namespace spead::observe {

prometheus::ClientMetric::Histogram time_histogram(const stats::Distribution& times) {
    prometheus::ClientMetric::Histogram histogram;
    histogram.sample_count = times.count;
    histogram.sample_sum = times.mean_s * static_cast<double>(times.count);
    std::uint64_t counted = 0;
    auto next = times.buckets.begin();
    for (const double bound : kTimeBounds) {
        for (; next != times.buckets.end() && next->up_to_s <= bound; ++next)
            counted += next->count;
        histogram.bucket.push_back({counted, bound});
    }
    return histogram;
}

}  // namespace spead::observe
