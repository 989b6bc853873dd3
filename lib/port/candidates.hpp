// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "port/machine.hpp"
#include "port/pci_device.hpp"

/// Lists the network interfaces and cards of this machine that could be ports. Control code.
namespace spead::port {

struct Candidate {
    std::string device;  ///< its name: "ens1f0", or "0000:03:00.0" for a card without kernel driver
    Ipv4 address;        ///< 0.0.0.0: none
    std::string pci;     ///< empty: no PCI card behind it
    std::string driver;  ///< the kernel's; empty: unknown
    std::string state;   ///< "up", "down", "no carrier", "not the kernel's"
    bool default_route = false;
    /// Says why it is not taken by default; empty: it may be.
    std::string why_not;
};

/// Returns every Ethernet interface but the loopback one, then the cards that are bound to vfio-pci and the
/// like.
///
/// One is taken by default (why_not empty) under these conditions. It is up and does not carry the default
/// route. It is not stacked on another or made of others (bridge, bond, VLAN, tunnel, tun/tap), and not part
/// of a bridge or bond. It is an interface of the kernel: a card that was taken from it may be another
/// program's.
std::vector<Candidate> candidates(const Machine& machine);

/// Formats the list: "ens1f0 (10.0.0.5, mlx5_core at 0000:03:00.0, up); eth0 (192.0.2.2, virtio_net, up,
/// carries the default route)".
std::string list_of(const std::vector<Candidate>& candidates);

/// Holds the only possible port when none was named: its name, or why there is none or more than one, with
/// the list.
struct LonePort {
    std::string device;
    std::string why_not;
};
LonePort lone_port(const Machine& machine);

/// Returns the interfaces that an IPv4 default route uses.
std::vector<std::string> default_route_netdevs(const Sysfs& files);

/// Returns the kernel's driver of an interface: "mlx5_core", "virtio_net"; empty when /sys does not have it.
std::string netdev_driver(const Machine& machine, const NetdevFacts& netdev);

}  // namespace spead::port
