// SPDX-License-Identifier: BSD-3-Clause
#include "port/source_address.hpp"

#include <algorithm>
#include <net/if.h>

#include "base/inet6_addresses.hpp"
#include "base/interface_addresses.hpp"

namespace spead::port {

namespace {

/// Returns how little an address is fit, as SourceAddress says it.
int unfitness_of(const IpAddress& address, unsigned interface, const std::vector<Inet6Address>& states) {
    if (address.is_v4()) {
        return 0;
    }
    const auto state = std::ranges::find_if(states, [&](const Inet6Address& one) {
        return one.interface == interface && address == IpAddress(one.address);
    });
    const bool known = state != states.end();
    if (known && state->failed) {
        return SourceAddress::kFailed;
    }
    if (address.is_link_local()) {
        return SourceAddress::kLinkLocal;
    }
    return !known              ? 0
           : state->tentative  ? SourceAddress::kTentative
           : state->deprecated ? SourceAddress::kDeprecated
           : state->temporary  ? SourceAddress::kTemporary
                               : 0;
}

}  // namespace

std::vector<SourceAddress> source_addresses(const std::string& netdev) {
    const std::vector<Inet6Address> states = inet6_addresses();
    const unsigned index = ::if_nametoindex(netdev.c_str());
    std::vector<SourceAddress> found;
    for (const InterfaceAddress& one : interface_addresses()) {
        if (one.interface == netdev) {
            found.push_back({one.address, unfitness_of(one.address, index, states)});
        }
    }
    return found;
}

IpAddress choose_source(const std::vector<SourceAddress>& addresses, bool v6, const IpAddress& now) {
    const SourceAddress* best = nullptr;
    const SourceAddress* present = nullptr;
    for (const SourceAddress& one : addresses) {
        if (one.address.is_v6() != v6) {
            continue;
        }
        if (one.address == now) {
            present = &one;
        }
        if (one.unfitness < SourceAddress::kFailed && (best == nullptr || one.unfitness < best->unfitness)) {
            best = &one;
        }
    }
    if (best == nullptr) {
        return now.is_link_local() ? IpAddress{} : now;  // that one follows from the MAC address
    }
    if (present != nullptr) {
        return present->unfitness <= best->unfitness ? now : best->address;
    }
    const bool was_known = !now.is_unspecified() && !now.is_link_local();
    return was_known && best->address.is_link_local() ? now : best->address;
}

}  // namespace spead::port
