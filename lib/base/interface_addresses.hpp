// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/endpoint.hpp"

/// Lists the addresses of this machine's network interfaces. Control code.
namespace spead {

struct InterfaceAddress {
    std::string interface;  ///< without the label that an IPv4 address may have ("eth0:1")
    IpAddress address;
};

/// Returns those of all interfaces of the calling thread's network namespace, in the kernel's order. Throws
/// Error when the kernel cannot be asked (getifaddrs).
std::vector<InterfaceAddress> interface_addresses();

}  // namespace spead
