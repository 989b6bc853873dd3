// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "app/fleet/host_look.hpp"
#include "app/fleet/host_state.hpp"
#include "observe/json.hpp"

namespace spead::app {

/// Limits the processes that the page of a fleet lists: the worst.
inline constexpr std::size_t kMostListedHosts = 500;

/// Returns what /api/v1/fleet answers (docs/page.md): sums, what is missing of the plans, and the processes,
/// the worst first. `states` has an entry for each process of `now`, and `before` the same processes or none.
/// `at` is the time of the look. Pure.
observe::Json fleet_json(const std::vector<HostLook>& before, const std::vector<HostLook>& now,
                         const std::vector<HostStates::Entry>& states, HostStates::Clock::time_point at);

}  // namespace spead::app
