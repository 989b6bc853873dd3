// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "port/driver.hpp"
#include "runtime/plan.hpp"

/// What a plan asks of its ports. Control world, pure but for what drivers look up.
namespace spead::runtime {

/// Plans the ports of the plan from `first` on: those of a run that begins, or one that comes while it runs.
/// `cpus`, as Plan::ports: where the port's streams run. Throws Error as port::plan_ports does.
std::vector<port::PlannedPort> plan_ports(const Plan& plan, std::size_t first,
                                          std::span<const std::vector<unsigned>> cpus,
                                          std::span<const std::string> eal_devices,
                                          std::span<const port::Driver* const> drivers,
                                          const port::Machine& machine);

/// Whether we are the port's IGMP and ARP host.
bool has_own_host(const port::PlannedPort& port);

/// Returns the EAL memory of a sender that may come to the port while it runs; 0: none can.
std::size_t spare_sender_bytes(const Plan& plan, const port::PlannedPort& port);

}  // namespace spead::runtime
