// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "port/driver.hpp"
#include "port/machine.hpp"

namespace spead::port {

/// Holds the device that a user's name of a port means.
struct NamedDevice {
    std::string device;  ///< for EAL: a vdev string, or a PCI address with devargs
    const Driver* driver = nullptr;
    std::vector<std::string> remarks;  ///< why not the expected family; with the port's name
    std::string refusals{};            ///< why better families declined the interface; empty: none was asked
};

/// Finds the family and the device for request.device. It is one of these, in this order, each with further
/// devargs after a comma:
///
///   * a device string of a family ("net_ring0", "vdev:net_ring0"), or the name of one that EAL makes
///     (`eal_devices`); an interface of the same name is meant only if nothing follows the name
///   * a netdev, or an IPv4 address of one. The card's own family if one drives it beside the kernel
///     (mlx5, mlx4), else the highest of Driver::netdev_rank() that does not decline
///   * a PCI address ("0000:03:00.0", "03:00.0")
///   * an RDMA device ("mlx5_0"), which means the card behind it
///
/// Throws Error for any other name, listing the present ones, and for a card whose kernel driver keeps it,
/// naming the ways out. Throws UsageError for names that are never valid. Changes nothing.
NamedDevice name_device(const PortRequest& request, std::span<const Driver* const> table,
                        std::span<const std::string> eal_devices, const Machine& machine);

}  // namespace spead::port
