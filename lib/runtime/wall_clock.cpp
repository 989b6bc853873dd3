// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/wall_clock.hpp"

#include <chrono>

#include <rte_cycles.h>

namespace spead::runtime {

WallClock::WallClock()
    : ticks_(rte_rdtsc()),
      ns_per_tick_(rte_get_tsc_hz() == 0 ? 0 : 1e9 / static_cast<double>(rte_get_tsc_hz())),
      ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count()) {}

std::int64_t WallClock::ns_of(std::uint64_t ticks) const {
    if (ticks == 0 || ns_per_tick_ == 0)
        return 0;
    return ns_ + static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - ticks_)) *
                                           ns_per_tick_);
}

ArrivalTimes WallClock::arrival_of(const chunk::Chunk& chunk) const {
    if (chunk.first_arrival == 0)
        return {};
    return {ns_of(chunk.first_arrival), ns_of(chunk.last_arrival)};
}

}  // namespace spead::runtime
