// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "runtime/plan.hpp"

namespace spead::config {

/// Returns whether the device of a port receives through kernel sockets.
bool is_kernel_port(const runtime::PortPlan& port);

/// Returns whether such a port names its network interface, or an address of it. Otherwise the routes select
/// one.
bool names_interface(const runtime::PortPlan& port);

/// Gives streams with `backend = "kernel"` a port of kernel sockets on the network interface of the port that
/// they name. If nothing else uses that port, it becomes such a port itself. Else a port is added, called
/// after it ("p0-kernel"). A port that does not say its interface stays as it is, and the new one has the
/// VLAN of the named one: validate() refuses both. Does nothing for a plan that it has completed before.
/// Throws UsageError if another device has the new port's name.
void add_kernel_ports(runtime::Plan& plan);

}  // namespace spead::config
