// SPDX-License-Identifier: BSD-3-Clause
#include "port/source_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <string_view>
#include <sys/socket.h>

#include "base/error.hpp"
#include "base/inet6_addresses.hpp"
#include "base/socket_address.hpp"

namespace spead::port {

namespace {

struct FreeInterfaceAddresses {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

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
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) {
        throw_error("network interfaces", "cannot list their addresses: {}", std::strerror(errno));
    }
    const std::unique_ptr<ifaddrs, FreeInterfaceAddresses> owner(list);
    const std::vector<Inet6Address> states = inet6_addresses();
    const unsigned index = ::if_nametoindex(netdev.c_str());
    std::vector<SourceAddress> found;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        const std::string_view label = entry->ifa_name;  // of IPv4: "eth0:1"
        if (entry->ifa_addr == nullptr || netdev != label.substr(0, label.find(':')) ||
            (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6)) {
            continue;
        }
        const IpAddress address = spead::address_of(entry->ifa_addr);
        found.push_back({address, unfitness_of(address, index, states)});
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
