// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "app/fleet/host_look.hpp"

namespace spead::app {

/// Adds up the processes of a fleet.
struct FleetSum {
    std::size_t answer = 0;  ///< processes
    double bytes_per_second = 0;
    double packets_per_second = 0;
};

/// Returns the sums. Pure.
FleetSum sum_of(const std::vector<HostLook>& now);

}  // namespace spead::app
