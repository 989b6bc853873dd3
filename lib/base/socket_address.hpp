// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <sys/socket.h>

#include "base/endpoint.hpp"

/// Exchanges addresses with the kernel's socket calls.
namespace spead {

/// Holds an address as the kernel wants it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
    int family() const noexcept { return storage.ss_family; }
};

/// Returns AF_INET or AF_INET6.
constexpr int family_of(const IpAddress& address) noexcept {
    return address.is_v4() ? AF_INET : AF_INET6;
}

/// Makes one. `scope`: the interface that a link-local address of IPv6 belongs to, by the kernel's number.
SocketAddress socket_address(const IpAddress& address, std::uint16_t port, unsigned scope = 0) noexcept;

/// Reads the address of either family; 0.0.0.0 of any other.
IpAddress address_of(const sockaddr* from) noexcept;

/// Lets the socket bind to an address that this machine does not have yet. Packets to it arrive once the
/// machine has it and may use it. Returns whether the kernel permits that.
bool allow_absent_address(int fd, int family) noexcept;

}  // namespace spead
