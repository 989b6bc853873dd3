// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "port/machine.hpp"
#include "port/pci_device.hpp"

/// The network interfaces and cards of this machine that could be ports. Control world.
namespace spead::port {

struct Candidate {
    std::string device;  ///< what to name it by: "ens1f0", or "0000:03:00.0" for a card the kernel lost
    Ipv4 address;        ///< 0.0.0.0: none
    std::string pci;     ///< empty: no PCI card behind it
    std::string driver;  ///< the kernel's; empty: not known
    std::string state;   ///< "up", "down", "no carrier", "not the kernel's"
    bool default_route = false;
    /// Why it is not taken by itself; empty: it may be.
    std::string why_not;
};

/// Every Ethernet interface but the loopback one, then the cards that are bound to vfio-pci and the like.
///
/// One is taken by itself (why_not empty) when it is up, does not carry the default route, is not stacked on
/// another or made of others (bridge, bond, VLAN, tunnel, tun/tap), is not part of a bridge or bond, and is
/// an interface of the kernel: a card that was taken from it may be some other program's.
std::vector<Candidate> candidates(const Machine& machine);

/// "ens1f0 (10.0.0.5, mlx5_core at 0000:03:00.0, up); eth0 (192.0.2.2, virtio_net, up, carries the default
/// route)".
std::string list_of(const std::vector<Candidate>& candidates);

/// The one port to take when nothing was named: its name, or why there is none or more than one, with the
/// list.
struct LonePort {
    std::string device;
    std::string why_not;
};
LonePort lone_port(const Machine& machine);

/// Interfaces that a default route of IPv4 leaves through.
std::vector<std::string> default_route_netdevs(const Sysfs& files);

/// The kernel's driver of an interface: "mlx5_core", "virtio_net"; empty when /sys does not tell.
std::string netdev_driver(const Machine& machine, const NetdevFacts& netdev);

}  // namespace spead::port
