// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "base/mac.hpp"

/// Finds the next hops of unicast packets that leave through a network interface of the kernel.
namespace spead::port {

/// Limits the wait for the kernel: it sends three ARP requests, or neighbour solicitations (RFC 4861), one a
/// second.
inline constexpr std::chrono::milliseconds kNeighbourPatience{4000};

/// Returns the MAC address of the next hop to each destination: of the host itself, or of the router in the
/// kernel's routes through `netdev`. They come from the kernel's neighbour table (rtnetlink's RTM_GETROUTE
/// and RTM_GETNEIGH). For missing ones an empty UDP datagram to the next hop's discard port makes the kernel
/// ask for them.
///
/// Control code: waits for the replies, all together at most `patience`, and no longer when `interrupt_fd`
/// (-1: none) becomes readable. Throws Error naming the destination, the next hop, the interface and what was
/// tried.
std::vector<MacAddress> next_hop_macs(const std::string& netdev, std::span<const IpAddress> destinations,
                                      std::chrono::milliseconds patience = kNeighbourPatience,
                                      int interrupt_fd = -1);

/// Looks at the same tables once, without waiting: none for unknown ones, also if the route or the interface
/// has gone. Makes the kernel ask again for hosts whose entry is old or has failed; by itself it confirms
/// only hosts that it sends to.
std::vector<std::optional<MacAddress>> look_at_next_hops(const std::string& netdev,
                                                         std::span<const IpAddress> destinations);

}  // namespace spead::port
