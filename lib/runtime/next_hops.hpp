// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"
#include "port/driver.hpp"
#include "port/port.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

/// The MAC addresses that a sender's unicast endpoints need.
namespace spead::runtime {

/// A unicast destination of a sender whose MAC address is looked for, now and during the run.
struct NextHop {
    std::uint32_t substream = 0;
    Ipv4 address;
    MacAddress mac{};  ///< that the sender uses; zero: none yet
};

/// Whether the sender has unicast endpoints whose MAC addresses the plan does not give.
bool needs_next_hops(const SendPlan& plan);

/// Before the port is open (`--check`): throws UsageError when there are unicast endpoints and neither
/// SendPlan::dst_mac nor somebody who could find their MAC addresses: the kernel on a network interface of
/// its own, or our ARP host.
void check_next_hops(const SendPlan& plan, const port::PlannedPort& port);

/// Fills in the MAC addresses that `config` still lacks, from the kernel's neighbour table, and returns whose
/// they are. Waits for answers, some seconds at most (port/neighbours.hpp). Where our own ARP host is to find
/// them, once the port is started, they are filled in with zeros. Throws Error with what was tried and the
/// option that helps.
std::vector<NextHop> find_next_hops(const port::Port& port, send::SenderConfig& config,
                                    int interrupt_fd = -1);

}  // namespace spead::runtime
