// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "port/device_string.hpp"
#include "port/driver.hpp"

/// What mlx5 and mlx4 have in common: cards that DPDK uses through RDMA's verbs while the kernel keeps them.
/// Internal to drivers/.
namespace spead::drivers {

/// The card that a request names. Throws Error unless it is there, bound to `kernel_driver`, usable through
/// verbs (modules `verbs_module` and ib_uverbs, /dev/infiniband) and this process may use it (CAP_NET_RAW):
/// each error names what is missing and the command that mends it.
port::PciDevice usable_card(const port::Host& host, const port::DeviceString& device,
                            const std::string& where, const std::string& kernel_driver,
                            const std::string& verbs_module);

/// Fills in what depends on the card's network interface: its MTU, the sizes of queues and pools (one mbuf
/// per packet, however large the MTU lets it be) and memory that may be locked. `plan` has names and queue
/// counts.
void plan_on_netdev(const port::Host& host, const port::PortRequest& request, const port::NetdevFacts& netdev,
                    std::uint16_t tx_descriptors, port::PreparedDevice& plan);

/// Throws Error when the memory that the card must reach cannot be locked.
void check_lockable(const port::Host& host, const port::PortRequest& request,
                    const port::PreparedDevice& plan);

/// Adds `key=value` unless the user gave the key, or EAL has the device already.
void recommend(const port::PortRequest& request, port::DeviceString& device, std::string_view key,
               std::string value);

}  // namespace spead::drivers
