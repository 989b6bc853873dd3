// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.hpp"
#include "port/netdev.hpp"
#include "port/sysfs.hpp"

namespace spead::port {

/// Asks the machine and its kernel before a port is opened; tests give answers of their own. Control code.
struct Machine {
    Sysfs files;
    std::function<std::optional<NetdevFacts>(const std::string&)> netdev = netdev_facts;
    std::function<std::vector<std::string>()> netdevs = netdev_names;
    std::function<std::string(const IpAddress&)> netdev_of = port::netdev_of;
    std::function<bool(int)> capable = has_capability;
    std::function<std::uint64_t()> lockable = lockable_bytes;
    std::function<std::uint64_t()> longest_file = longest_file_bytes;

    /// Returns whether /sys describes this interface, and not one of the same name in another network
    /// namespace. A process that was moved into a namespace may still see the /sys of the one it came from.
    bool sees(const NetdevFacts& facts) const;
};

/// Returns the machine that this process runs on.
const Machine& this_machine();

/// Returns net.core.rmem_max, the largest receive buffer that a socket may ask for, in bytes; 0: unknown.
std::uint64_t socket_buffer_limit(const Machine& machine = this_machine());

}  // namespace spead::port
