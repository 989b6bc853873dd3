// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/details.hpp"
#include "runtime/heap_tally.hpp"
#include "stats/counters.hpp"
#include "stats/snapshot.hpp"
#include "stats/stream_times.hpp"

namespace spead::runtime {

class Sink;

/// Restarts what is no count in sums of streams: what was longest or most.
void forget_peaks(stats::StreamSnapshot& sums) noexcept;

/// Sums the counts of a stream's former lanes and sinks, and counts its events. Main thread only.
class PastCounts {
  public:
    /// Adds the last counts of a lane. Its endpoints are in the order of the stream's places.
    void add_lane(const stats::StreamCounters& counts, const HeapTally::Done& done,
                  const LaneDetails& details);
    /// Adds the last counts of a sink.
    void add_sink(const Sink& sink);
    /// Adds the last counts of former chunks.
    void add_chunks(const stats::ChunkCounts& counts) noexcept { sums_.chunks.add(counts); }
    void count(stats::StreamEvent event) noexcept;

    /// Makes room for so many `places`. The counts at the `fresh` ones become those of endpoints without a
    /// place.
    void free_places(std::size_t places, const std::vector<std::size_t>& fresh);
    /// Adds counts of endpoints that have lost their place.
    void add_without_place(const stats::EndpointCounters& counts) noexcept { without_place_.add(counts); }

    /// Restarts everything that is no count.
    void forget_peaks() noexcept;

    const stats::StreamSnapshot& sums() const noexcept { return sums_; }
    /// Returns the counts of endpoints, in the order of the stream's places.
    const std::vector<stats::EndpointCounters>& endpoints() const noexcept { return endpoints_; }
    const stats::EndpointCounters& without_place() const noexcept { return without_place_; }
    const stats::StreamTimes& times() const noexcept { return times_; }

  private:
    stats::StreamSnapshot sums_;
    std::vector<stats::EndpointCounters> endpoints_;
    stats::EndpointCounters without_place_;
    stats::StreamTimes times_;
};

}  // namespace spead::runtime
