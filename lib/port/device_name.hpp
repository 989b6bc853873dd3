// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "port/driver.hpp"
#include "port/machine.hpp"

namespace spead::port {

/// What a person's name of a port stands for.
struct NamedDevice {
    std::string device;  ///< what EAL is told: a vdev string, or a PCI address with devargs
    const Driver* driver = nullptr;
    std::vector<std::string> remarks;  ///< why not the family one would expect; with the port's name
    std::string refusals{};            ///< what better families said of the interface; empty: none was asked
};

/// Finds the family and the device for request.device, which is one of these, in this order, each with
/// further devargs after a comma:
///
///   * a device string of a family ("net_ring0", "vdev:net_ring0"), or the name of one that EAL makes
///     (`eal_devices`); an interface that has such a name is meant by it only where it says no more than that
///   * a netdev, or an IPv4 address of one. The card's own family where one drives it beside the kernel
///     (mlx5, mlx4), else the highest of Driver::netdev_rank() that does not decline
///   * a PCI address ("0000:03:00.0", "03:00.0")
///   * an RDMA device ("mlx5_0"), standing for the card behind it
///
/// Throws Error for what is none of these, listing what there is, and for a card that is bound to a driver
/// that keeps it, naming the ways out; UsageError for what can never be one of these. Changes nothing.
NamedDevice name_device(const PortRequest& request, std::span<const Driver* const> table,
                        std::span<const std::string> eal_devices, const Machine& machine);

}  // namespace spead::port
