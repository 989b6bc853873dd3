// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"

/// Reads the properties of the kernel's network interfaces that ports need. Control code only. Every call
/// reads the values again, in the network namespace of the calling thread.
namespace spead::port {

struct NetdevFacts {
    std::string name;
    unsigned index = 0;
    std::uint32_t mtu = 0;  ///< largest IP packet
    bool up = false;        ///< set up by an administrator (IFF_UP)
    bool running = false;   ///< has a carrier (IFF_RUNNING)
    bool promiscuous = false;
    bool ethernet = false;  ///< carries Ethernet frames (the loopback interface does)
    bool loopback = false;
    std::array<std::uint8_t, 6> mac{};
    Ipv4 address;  ///< its first IPv4 address; 0.0.0.0: none
    /// Holds its IPv6 address that packets should come from: its first one that is not link-local, if
    /// possible neither deprecated nor tentative.
    std::optional<Ipv6> address6{};
};

/// Returns the names of all interfaces, in the kernel's order. Throws Error when the kernel cannot be asked.
std::vector<std::string> netdev_names();

/// Returns the facts; empty when no interface has that name. Throws Error when the kernel cannot be asked.
std::optional<NetdevFacts> netdev_facts(const std::string& name);

/// Returns the kernel's interface for a VLAN of this interface ("eth0.42"); empty when there is none.
std::string vlan_netdev(const std::string& name, std::uint16_t vlan);
/// Returns the same from the text of /proc/net/vlan/config.
std::string vlan_netdev_in(const std::string& config, const std::string& name, std::uint16_t vlan);

/// Returns the name of the interface that has this address; empty when none has.
std::string netdev_of(const IpAddress& address);

/// Sets the MTU. Throws Error naming the interface and the kernel's reason (CAP_NET_ADMIN, the driver's
/// largest MTU).
void set_netdev_mtu(const std::string& name, std::uint32_t mtu);

/// Returns whether the calling thread has an effective Linux capability (CAP_NET_ADMIN, ...).
bool has_capability(int capability);

/// Returns the bytes that this process may lock in memory (RLIMIT_MEMLOCK); UINT64_MAX: no limit, or
/// CAP_IPC_LOCK.
std::uint64_t lockable_bytes();

/// Returns the size of the largest file that this process may make (RLIMIT_FSIZE); UINT64_MAX: no limit.
std::uint64_t longest_file_bytes();

}  // namespace spead::port
