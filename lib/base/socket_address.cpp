// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_address.hpp"

#include <cstring>
#include <netinet/in.h>

#include "base/byte_order.hpp"
#include "base/ipv6_bytes.hpp"

#ifndef IPV6_FREEBIND
#define IPV6_FREEBIND 78  // Linux 4.15
#endif

namespace spead {

SocketAddress socket_address(const IpAddress& address, std::uint16_t port, unsigned scope) noexcept {
    SocketAddress out;
    if (address.is_v4()) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = byte_swap(port);
        in.sin_addr.s_addr = byte_swap(address.v4().value);
        std::memcpy(&out.storage, &in, sizeof in);
        out.length = sizeof in;
        return out;
    }
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = byte_swap(port);
    store_ipv6(in.sin6_addr.s6_addr, address.v6());
    in.sin6_scope_id = address.is_link_local() ? scope : 0;
    std::memcpy(&out.storage, &in, sizeof in);
    out.length = sizeof in;
    return out;
}

IpAddress address_of(const sockaddr* from) noexcept {
    if (from->sa_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, from, sizeof in);
        return Ipv4{byte_swap(in.sin_addr.s_addr)};
    }
    if (from->sa_family != AF_INET6)
        return {};
    sockaddr_in6 in{};
    std::memcpy(&in, from, sizeof in);
    return load_ipv6(in.sin6_addr.s6_addr);
}

bool allow_absent_address(int fd, int family) noexcept {
    const int yes = 1;
    return family == AF_INET ? ::setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &yes, sizeof yes) == 0
                             : ::setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof yes) == 0;
}

}  // namespace spead
