// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "stats/histogram.hpp"

namespace spead::stats {

/// Counts ticks up to 2^42 (half an hour of a 2.4 GHz clock) to 12.5 %, in 2.6 KiB.
using TickHistogram = LogHistogram<3, 42>;

/// Holds the times of one stream's heaps on one lcore, in ticks of its clock; kept per heap, not per packet.
struct StreamTimes {
    TickHistogram latency;  ///< first packet to hand-over; of every heap that was put into the queue
    TickHistogram gap;      ///< between the first packets of heaps that began one after the other
};

}  // namespace spead::stats
