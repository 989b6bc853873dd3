// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/fleet/host_look.hpp"

/// Finds out what is missing of the plans of a fleet. Pure.
namespace spead::app {

/// Gathers the shards of one plan.
struct PlanLook {
    std::map<std::string, std::uint64_t> shards{};  ///< with their endpoints
    std::uint64_t endpoints_all = 0;

    /// Returns the endpoints that some process receives.
    std::uint64_t endpoints() const;
};

/// Returns the plans of the processes that answer, by name.
std::map<std::string, PlanLook> plans_of(const std::vector<HostLook>& now);

/// Returns sentences about what is missing of the plans: shards that no host has, endpoints that nobody
/// receives. Empty: nothing is.
std::vector<std::string> plan_faults(const std::vector<HostLook>& now);

/// Returns those, after a sentence about the hosts that do not answer.
std::vector<std::string> fleet_faults(const std::vector<HostLook>& now);

}  // namespace spead::app
