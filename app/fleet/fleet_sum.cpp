// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_sum.hpp"

namespace spead::app {

FleetSum sum_of(const std::vector<HostLook>& now) {
    FleetSum sum;
    for (const HostLook& host : now) {
        sum.answer += host.failure.empty() ? 1 : 0;
        sum.bytes_per_second += host.bytes_per_second;
        sum.packets_per_second += host.packets_per_second;
    }
    return sum;
}

}  // namespace spead::app
