// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What drivers change of the machine and a process can leave behind.
namespace spead::drivers {

/// Puts the MTUs of network interfaces back that open ports have raised, for a process that ends without
/// closing its ports. Any thread, also while ports are opened and closed.
void put_back_netdev_mtus() noexcept;

}  // namespace spead::drivers
