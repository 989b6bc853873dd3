// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Restores changes of the machine by drivers that could outlive the process.
namespace spead::drivers {

/// Restores the MTUs of network interfaces that open ports have raised, for a process that ends without
/// closing its ports. Any thread, also while ports are opened and closed.
void put_back_netdev_mtus() noexcept;

}  // namespace spead::drivers
