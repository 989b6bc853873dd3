// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "port/driver.hpp"

/// The MTU of the kernel's network interface behind a port, which bounds what the port carries. Internal to
/// drivers/.
namespace spead::drivers {

/// Plans to raise the MTU to what the request's `mtu` and what it sends need (PreparedDevice::netdev_mtu),
/// and remarks what will not arrive and what helps (PreparedDevice::mtu_advice). `most` is the largest MTU
/// with which the driver works, 0: any. Returns the MTU that will then hold. Throws Error without
/// CAP_NET_ADMIN.
std::uint32_t plan_netdev_mtu(const port::PortRequest& request, const port::NetdevFacts& facts,
                              port::PreparedDevice& plan, const port::Machine& machine = port::this_machine(),
                              std::uint32_t most = 0);

/// Does what was planned; for Driver::apply(). Throws Error, and has then changed nothing.
void apply_netdev_mtu(port::PreparedDevice& plan);

/// Puts the MTU back unless somebody has changed it since; for Driver::released().
void restore_netdev_mtu(const port::PreparedDevice& plan) noexcept;

}  // namespace spead::drivers
