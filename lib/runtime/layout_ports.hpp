// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/driver.hpp"
#include "runtime/plan.hpp"

/// Makes the port requests of a plan. Control code; pure but for the drivers' look-ups.
namespace spead::runtime {

/// Plans the ports of the plan from `first` on: those of a run that begins, or one that is added during a
/// run. `in_use`: the devices that are open. `cpus`, in the order of Plan::ports, are those of the port's
/// streams. Throws Error as port::plan_ports does.
std::vector<port::PlannedPort> plan_ports(const Plan& plan, std::size_t first,
                                          std::span<const std::vector<unsigned>> cpus,
                                          std::span<const std::string> eal_devices,
                                          std::span<const port::Driver* const> drivers,
                                          const port::Machine& machine,
                                          std::span<const std::string> in_use = {});

/// Refuses a port that reassembles fragments if its streams are on several CPUs: fragments of one datagram
/// may come to different lcores. Throws UsageError.
void check_reassembly(const PortPlan& port, const std::vector<unsigned>& cpus);

/// Returns the mbufs of a port that engines may keep. An engine has as many batches for each lcore, whatever
/// the streams that share them there. Each queue may bring all of their packets. `cpus`: of the port's
/// streams.
std::uint32_t gathered_mbufs(const Plan& plan, const std::string& port, const std::vector<unsigned>& cpus);

/// Returns the engine whose memory a port that cuts packets receives payload into: that of its first stream
/// that has one.
HeapEngine payload_engine(const Plan& plan, const std::string& port);

/// Returns whether the port has our own host (runtime/link_host.hpp).
bool has_own_host(const port::PlannedPort& port);

/// Returns the EAL memory of a sender that may be added to the port during the run; 0: none can.
std::size_t spare_sender_bytes(const Plan& plan, const port::PlannedPort& port);

}  // namespace spead::runtime
