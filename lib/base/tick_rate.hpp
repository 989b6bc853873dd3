// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace spead {

/// Returns the ticks of the CPU's clock (TSC) in a second: EAL's number, or a measured one in a process that
/// has not started EAL. The first measurement takes 10 ms.
double ticks_per_second() noexcept;

/// Holds what two clocks showed at the same time.
struct ClockReading {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
};

/// Reads both clocks several times, and returns the reading between whose ends the fewest ticks passed: a
/// thread may lose its CPU between two clocks.
ClockReading read_together(const std::function<std::uint64_t()>& ticks,
                           const std::function<std::int64_t()>& ns);

}  // namespace spead
