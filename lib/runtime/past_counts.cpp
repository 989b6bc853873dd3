// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/past_counts.hpp"

#include <algorithm>
#include <utility>

#include "runtime/sink.hpp"

namespace spead::runtime {

void PastCounts::add_lane(const stats::StreamCounters& counts, const HeapTally::Done& done,
                          const LaneDetails& details) {
    stats::StreamCounters last = counts;
    // A lane that is gone does nothing now.
    last.held_now = last.rotating_bytes = last.streaming_now = last.lent_now = 0;
    last.goes_direct = last.goes_tracked = 0;
    for (stats::PathCounters& path : last.paths)
        path.awaited = 0;
    sums_.add(last, done.delivered, done.unwritten);
    endpoints_.resize(std::max(endpoints_.size(), details.endpoints.size()));
    for (std::size_t e = 0; e < details.endpoints.size(); e++)
        endpoints_[e].add(details.endpoints[e]);
    times_.latency.merge(details.times.latency);
    times_.gap.merge(details.times.gap);
}

void PastCounts::add_sink(const Sink& sink) {
    sums_.heaps_verified += sink.verified();
    sums_.heaps_wrong += sink.wrong();
}

void PastCounts::count(stats::StreamEvent event) noexcept {
    sums_.events[static_cast<std::size_t>(event)]++;
}

void forget_peaks(stats::StreamSnapshot& sums) noexcept {
    sums.longest_header = sums.longest_packet = 0;
    sums.ghosts_source = 0;
    sums.ghosts_of_source = 0;
    for (stats::PathCounters& path : sums.paths)
        path.forgotten_after = 0;
}

void PastCounts::forget_peaks() noexcept {
    times_ = {};
    runtime::forget_peaks(sums_);
}

void PastCounts::free_places(std::size_t places, const std::vector<std::size_t>& fresh) {
    endpoints_.resize(places);
    for (const std::size_t place : fresh)
        without_place_.add(std::exchange(endpoints_[place], {}));
}

}  // namespace spead::runtime
