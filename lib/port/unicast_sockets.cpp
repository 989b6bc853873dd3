// SPDX-License-Identifier: BSD-3-Clause
#include "port/unicast_sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include "base/log.hpp"
#include "base/socket_address.hpp"

namespace spead::port {

namespace {

Endpoint without_source(Endpoint endpoint) {
    endpoint.source = {};
    return endpoint;
}

/// Binds the socket. Returns 0, or errno. The filter comes before the address, so that no packet is queued.
int claim(int fd, const std::string& interface, const Endpoint& endpoint) {
    sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{1, &drop_all};
    const SocketAddress address =
        socket_address(endpoint.address, endpoint.port, ::if_nametoindex(interface.c_str()));
    const int only = 1;
    const bool done =
        ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.c_str(),
                     static_cast<socklen_t>(interface.size())) == 0 &&
        (endpoint.address.is_v4() || ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) == 0) &&
        allow_absent_address(fd, family_of(endpoint.address)) &&
        ::bind(fd, address.get(), address.length) == 0;
    return done ? 0 : errno;
}

}  // namespace

void UnicastSockets::hold(const Endpoint& endpoint) {
    if (endpoint.address.is_multicast()) {
        return;
    }
    Held& held = held_[without_source(endpoint)];
    if (++held.times == 1) {
        open(endpoint, held);
    }
}

void UnicastSockets::let_go(const Endpoint& endpoint) {
    const auto found = held_.find(without_source(endpoint));
    if (found == held_.end() || --found->second.times != 0) {
        return;
    }
    held_.erase(found);
}

std::size_t UnicastSockets::sockets() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(held_, [](const auto& entry) { return static_cast<bool>(entry.second.fd); }));
}

/// Tries to make the socket.
void UnicastSockets::open(const Endpoint& endpoint, Held& held) const {
    FileDescriptor fd(::socket(family_of(endpoint.address), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int error = !fd ? errno : claim(fd.get(), interface_, endpoint);
    if (error == 0) {
        held.fd = std::move(fd);
    }
    if (error != 0 && error != EADDRINUSE) {
        log_warning(
            LogType::port,
            "{}: the kernel will answer packets to {} with ICMP \"port unreachable\", because no socket "
            "can be held there: {}",
            interface_, to_string(without_source(endpoint)), std::strerror(error));
    }
}

}  // namespace spead::port
