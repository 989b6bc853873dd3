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

/// Finds the MAC addresses for a sender's unicast endpoints.
namespace spead::runtime {

/// Holds a unicast destination of a sender whose MAC address is resolved, now and during the run.
struct NextHop {
    std::uint32_t substream = 0;
    Ipv4 address;
    MacAddress mac{};  ///< in use by the sender; zero: none yet
};

/// Returns whether the sender has unicast endpoints without MAC addresses in the plan.
bool needs_next_hops(const SendPlan& plan);

/// Checks before the port is open (`--check`). Throws UsageError when there are unicast endpoints, no
/// SendPlan::dst_mac, and no way to resolve their MAC addresses: neither the kernel on a network interface of
/// its own nor our ARP host.
void check_next_hops(const SendPlan& plan, const port::PlannedPort& port);

/// Fills in the MAC addresses that `config` still lacks, from the kernel's neighbour table, and returns their
/// destinations. Waits some seconds at most for replies (port/neighbours.hpp). Where our own ARP host
/// resolves them, once the port is started, fills in zeros. Throws Error with what was tried and the option
/// that helps.
std::vector<NextHop> find_next_hops(const port::Port& port, send::SenderConfig& config,
                                    int interrupt_fd = -1);

}  // namespace spead::runtime
