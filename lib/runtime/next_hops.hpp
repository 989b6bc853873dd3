// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/driver.hpp"
#include "port/port.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

/// The MAC addresses that a sender's unicast endpoints need.
namespace spead::runtime {

/// Before the port is open (`--check`): throws UsageError when there are unicast endpoints and neither
/// SendPlan::dst_mac nor a network interface of the kernel that could tell their MAC addresses.
void check_next_hops(const SendPlan& plan, const port::PlannedPort& port);

/// Fills in the MAC addresses that `config` still lacks, from the kernel's neighbour table. Waits for
/// answers, some seconds at most (port/neighbours.hpp). Throws Error with what was tried and the option that
/// helps.
void find_next_hops(const port::Port& port, send::SenderConfig& config);

}  // namespace spead::runtime
