// SPDX-License-Identifier: BSD-3-Clause
#include "base/tick_rate.hpp"

#include <chrono>
#include <thread>

#include <rte_cycles.h>

namespace spead {

namespace {

double measured() noexcept {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    const std::uint64_t first = rte_rdtsc();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const Clock::time_point end = Clock::now();
    const std::uint64_t last = rte_rdtsc();
    return static_cast<double>(last - first) / std::chrono::duration<double>(end - begin).count();
}

}  // namespace

double ticks_per_second() noexcept {
    if (const std::uint64_t eal = rte_get_tsc_hz(); eal != 0)
        return static_cast<double>(eal);
    static const double here = measured();
    return here;
}

}  // namespace spead
