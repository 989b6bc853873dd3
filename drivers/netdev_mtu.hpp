// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/driver.hpp"

/// Manages the MTU of the kernel's network interface behind a port, which limits the port's packets. Internal
/// to drivers/.
namespace spead::drivers {

/// Plans to raise the MTU to the request's `mtu` and the needs of its sent packets
/// (PreparedDevice::netdev_mtu). Adds remarks on packets that will not arrive, with the fix
/// (PreparedDevice::mtu_advice). `most` is the driver's largest MTU, 0: any. Returns the MTU that will then
/// hold. Throws Error without CAP_NET_ADMIN.
std::uint32_t plan_netdev_mtu(const port::PortRequest& request, const port::NetdevFacts& facts,
                              port::PreparedDevice& plan, const port::Machine& machine = port::this_machine(),
                              std::uint32_t most = 0);

/// Sets the planned MTU; for Driver::apply(). Throws Error, and has then changed nothing.
void apply_netdev_mtu(port::PreparedDevice& plan);

/// Restores the MTU unless another program has changed it since; for Driver::released().
void restore_netdev_mtu(const port::PreparedDevice& plan) noexcept;

}  // namespace spead::drivers
