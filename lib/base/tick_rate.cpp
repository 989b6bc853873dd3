// SPDX-License-Identifier: BSD-3-Clause
#include "base/tick_rate.hpp"

#include <chrono>
#include <limits>
#include <thread>

#include <rte_cycles.h>

namespace spead {

namespace {

ClockReading now() {
    return read_together([] { return rte_rdtsc(); },
                         [] {
                             const auto time = std::chrono::steady_clock::now().time_since_epoch();
                             return std::chrono::nanoseconds(time).count();
                         });
}

double measured() noexcept {
    const ClockReading first = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const ClockReading last = now();
    return static_cast<double>(last.ticks - first.ticks) * 1e9 / static_cast<double>(last.ns - first.ns);
}

}  // namespace

double ticks_per_second() noexcept {
    if (const std::uint64_t eal = rte_get_tsc_hz(); eal != 0)
        return static_cast<double>(eal);
    static const double here = measured();
    return here;
}

ClockReading read_together(const std::function<std::uint64_t()>& ticks,
                           const std::function<std::int64_t()>& ns) {
    constexpr int kReadings = 10;
    ClockReading best;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < kReadings; i++) {
        const std::uint64_t before = ticks();
        const std::int64_t time = ns();
        const std::uint64_t passed = ticks() - before;
        if (passed >= least)
            continue;
        least = passed;
        best = {before + passed / 2, time};
    }
    return best;
}

}  // namespace spead
