// SPDX-License-Identifier: BSD-3-Clause
#include "base/interface_addresses.hpp"

#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <string_view>
#include <sys/socket.h>

#include "base/error.hpp"
#include "base/socket_address.hpp"

namespace spead {

namespace {

struct FreeAddresses {
    void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        throw_error("network interfaces", "cannot list their addresses: {}", std::strerror(errno));
    const std::unique_ptr<ifaddrs, FreeAddresses> owner(list);
    std::vector<InterfaceAddress> found;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr ||
            (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6))
            continue;
        const std::string_view label = entry->ifa_name;
        found.push_back({std::string(label.substr(0, label.find(':'))), address_of(entry->ifa_addr)});
    }
    return found;
}

}  // namespace spead
