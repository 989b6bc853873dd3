// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "port/machine.hpp"

/// Makes checks for all families on kernel network interfaces. Internal to drivers/.
namespace spead::drivers {

/// Returns the interface's facts. Throws Error unless it exists, carries Ethernet frames and is up.
port::NetdevFacts usable_interface(const std::string& name, const std::string& where,
                                   const port::Machine& machine = port::this_machine());

/// Throws Error naming the missing capability unless this process may open packet sockets.
void check_packet_socket(const std::string& device, const std::string& where);

/// Counts an interface's receive queues as ethtool reports them (`ethtool -l`).
struct ReceiveQueues {
    std::uint16_t all = 1;  ///< over which it distributes packets
    /// Counts those with a transmit queue of the same channel ("combined"); 1 where there are no channels.
    std::uint16_t combined = 1;
};
ReceiveQueues receive_queues(const std::string& name);

/// Returns the kernel's driver of an interface ("veth", "mlx5_core"), as `ethtool -i` reports it; empty when
/// unknown.
std::string kernel_driver(const std::string& name);

}  // namespace spead::drivers
