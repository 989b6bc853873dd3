// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <istream>
#include <vector>

#include "base/endpoint.hpp"

/// Reads the IPv6 addresses of this machine, with their states. The kernel lets nobody use an address while
/// it asks whether another host has it (RFC 4862, duplicate address detection): the first seconds of a link.
/// Control code.
namespace spead {

struct Inet6Address {
    Ipv6 address{};
    unsigned interface = 0;   ///< by the kernel's number
    bool tentative = false;   ///< it cannot be used yet
    bool deprecated = false;  ///< connections that exist may go on with it
    bool failed = false;      ///< another host has it
    bool temporary = false;   ///< the kernel replaces it from time to time (RFC 8981)
};

/// Returns the addresses of the calling thread's network namespace; none if the kernel does not tell them.
std::vector<Inet6Address> inet6_addresses();
/// Returns the same from the text of /proc/net/if_inet6.
std::vector<Inet6Address> inet6_addresses_in(std::istream& text);

/// Returns whether the address is one of this machine's, and tentative.
bool is_tentative(const IpAddress& address);
/// Returns whether the address is one of this machine's, and another host has it.
bool is_of_another_host(const IpAddress& address);
/// Returns whether the interface has an address that is tentative.
bool has_tentative(unsigned interface);

}  // namespace spead
