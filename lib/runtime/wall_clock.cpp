// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/wall_clock.hpp"

#include <chrono>
#include <utility>

#include <rte_cycles.h>

namespace spead::runtime {

namespace {

/// Bounds the age of what is known of both clocks.
constexpr double kOldest = 1e9;

WallClock::Now look_at_machine() {
    return {rte_rdtsc(), std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count()};
}

}  // namespace

WallClock::WallClock()
    : WallClock(rte_get_tsc_hz() == 0 ? 0 : 1e9 / static_cast<double>(rte_get_tsc_hz()), look_at_machine) {}

WallClock::WallClock(double ns_per_tick, std::function<Now()> look)
    : ns_per_tick_(ns_per_tick), look_(std::move(look)), known_(look_()) {}

std::int64_t WallClock::ns_of(std::uint64_t ticks) const {
    if (ticks == 0 || ns_per_tick_ == 0)
        return 0;
    const auto since = [&] { return static_cast<double>(static_cast<std::int64_t>(ticks - known_.ticks)); };
    if (since() * ns_per_tick_ > kOldest)
        known_ = look_();
    return known_.ns + static_cast<std::int64_t>(since() * ns_per_tick_);
}

ArrivalTimes WallClock::arrival_of(const chunk::Chunk& chunk) const {
    if (chunk.first_arrival == 0)
        return {};
    return {ns_of(chunk.first_arrival), ns_of(chunk.last_arrival)};
}

}  // namespace spead::runtime
