// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <prometheus/client_metric.h>

#include "stats/distribution.hpp"

namespace spead::observe {

/// Holds upper bounds of the buckets, in seconds: 1, 2 and 5 of each power of ten, from 1 us to 100 s. They
/// never change, so that Prometheus can add the buckets of several streams, processes and times.
inline constexpr std::array kTimeBounds{1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4,
                                        1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1,  0.2,  0.5,
                                        1.0,  2.0,  5.0,  10.0, 20.0, 50.0, 100.0};

/// Returns the counts as a Prometheus histogram. Times above the last bound are in the count only, which is
/// the bucket +Inf. Each time counts as the upper end of its own bucket: at most 12.5 % too long
/// (stats::TickHistogram), and never too short. A bucket's count never decreases while more is counted. Pure.
prometheus::ClientMetric::Histogram time_histogram(const stats::Distribution& times);

}  // namespace spead::observe
