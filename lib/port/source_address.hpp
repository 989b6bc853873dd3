// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "base/endpoint.hpp"

/// Chooses the address that packets of a network interface come from. Control code.
namespace spead::port {

/// Holds an address of an interface as a source of packets.
struct SourceAddress {
    static constexpr int kTemporary = 1;   ///< the kernel replaces it from time to time
    static constexpr int kDeprecated = 2;  ///< it goes soon
    static constexpr int kTentative = 3;   ///< another host may have it
    static constexpr int kLinkLocal = 4;
    static constexpr int kFailed = 5;  ///< another host has it

    IpAddress address;
    /// Says how little it is fit: 0: fully; else one of the constants, which are of IPv6; kFailed: not at
    /// all.
    int unfitness = 0;
};

/// Returns the addresses of an interface, in the kernel's order; none if there is no such interface. Throws
/// Error when the kernel cannot be asked.
std::vector<SourceAddress> source_addresses(const std::string& netdev);

/// Returns the address of that family that packets should come from, of an interface with these addresses.
/// `now`: the one that they come from at present. It stays if no other is fitter. It also stays if the
/// interface has lost it, and has none or only a link-local one instead. Else the first of the fittest ones;
/// unspecified: there is none. A link-local `now` does not stay when there is none: it
/// follows from a MAC address, which may be another one now.
IpAddress choose_source(const std::vector<SourceAddress>& addresses, bool v6, const IpAddress& now = {});

}  // namespace spead::port
