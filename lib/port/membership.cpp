// SPDX-License-Identifier: BSD-3-Clause
#include "port/membership.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/byte_order.hpp"
#include "base/error.hpp"
#include "base/interruptible.hpp"

namespace spead::port {

namespace {

in_addr network_address(Ipv4 address) {
    return in_addr{byte_swap(address.value)};
}

ip_mreqn any_source_request(unsigned if_index, Ipv4 group) {
    ip_mreqn request{};
    request.imr_multiaddr = network_address(group);
    request.imr_ifindex = static_cast<int>(if_index);
    return request;
}

group_source_req source_request(unsigned if_index, Ipv4 group, Ipv4 source) {
    const auto store = [](sockaddr_storage& where, Ipv4 address) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr = network_address(address);
        std::memcpy(&where, &in, sizeof in);
    };
    group_source_req request{};
    request.gsr_interface = if_index;
    store(request.gsr_group, group);
    store(request.gsr_source, source);
    return request;
}

template <typename T>
int set_option(int fd, int option, const T& value) {
    return ::setsockopt(fd, IPPROTO_IP, option, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace

KernelMembership::KernelMembership(unsigned if_index, std::string interface)
    : if_index_(if_index), interface_(std::move(interface)), unicast_(interface_) {
    if (if_index_ == 0) {
        throw_error(interface_, "groups can only be joined on a network interface of the kernel");
    }
}

KernelMembership::~KernelMembership() {
    for (const Socket& socket : sockets_) {
        ::close(socket.fd);
    }
}

std::size_t KernelMembership::joined() const noexcept {
    std::size_t n = 0;
    for (const Socket& socket : sockets_) {
        n += socket.keys.size();
    }
    return n;
}

void KernelMembership::want(const Endpoint& endpoint) {
    if (!endpoint.address.is_multicast()) {
        unicast_.hold(endpoint);
        return;
    }
    const Key key{endpoint.address, endpoint.source};
    if (++wanted_[key] == 1) {
        pending_.push_back(key);
    }
}

void KernelMembership::leave(const Endpoint& endpoint) {
    if (!endpoint.address.is_multicast()) {
        unicast_.let_go(endpoint);
        return;
    }
    const auto wanted = wanted_.find(Key{endpoint.address, endpoint.source});
    if (wanted == wanted_.end() || --wanted->second != 0) {
        return;
    }
    const Key key = wanted->first;
    wanted_.erase(wanted);
    if (const auto it = std::ranges::find(pending_, key); it != pending_.end()) {
        pending_.erase(it);
    } else {
        drop(key);
    }
}

bool KernelMembership::step(Clock::time_point now) {
    // Credit for idle time is limited to a burst.
    next_ = std::max(next_, now - (kBurst - 1) * Clock::duration{kInterval});
    while (!pending_.empty() && next_ <= now) {
        join(pending_.front());
        pending_.pop_front();
        next_ += kInterval;
    }
    return pending_.empty();
}

void KernelMembership::join_all(int interrupt_fd) {
    while (!step(Clock::now())) {
        wait_interruptibly(interrupt_fd, next_ - Clock::now(), interface_, "groups were joined");
    }
}

void KernelMembership::join(const Key& key) {
    if (!sockets_.empty() && fits(sockets_.back(), key)) {
        const int error = try_join(sockets_.back().fd, key);
        if (error == 0) {
            sockets_.back().keys.insert(key);
            return;
        }
        if (error != ENOBUFS) {
            refuse(key, error);
        }
    }
    const int fd = open_socket();
    if (const int error = try_join(fd, key); error != 0) {
        ::close(fd);
        refuse(key, error);
    }
    sockets_.push_back({fd, {key}});
}

/// Returns whether the socket can take the join. One socket cannot want a group from any source and from a
/// named one: the kernel would replace the former.
bool KernelMembership::fits(const Socket& socket, const Key& key) const {
    return std::ranges::none_of(socket.keys, [&](const Key& other) {
        return other.group == key.group && (other.source.value == 0) != (key.source.value == 0);
    });
}

int KernelMembership::try_join(int fd, const Key& key) const {
    return key.source.value == 0
               ? set_option(fd, IP_ADD_MEMBERSHIP, any_source_request(if_index_, key.group))
               : set_option(fd, MCAST_JOIN_SOURCE_GROUP, source_request(if_index_, key.group, key.source));
}

void KernelMembership::drop(const Key& key) {
    const auto socket = std::ranges::find_if(sockets_, [&](const Socket& s) { return s.keys.contains(key); });
    if (socket == sockets_.end()) {
        return;
    }
    socket->keys.erase(key);
    if (socket->keys.empty()) {
        ::close(socket->fd);
        sockets_.erase(socket);
        return;
    }
    // Fails only when the interface has gone, and the membership with it.
    if (key.source.value == 0) {
        (void)set_option(socket->fd, IP_DROP_MEMBERSHIP, any_source_request(if_index_, key.group));
    } else {
        (void)set_option(socket->fd, MCAST_LEAVE_SOURCE_GROUP,
                         source_request(if_index_, key.group, key.source));
    }
}

int KernelMembership::open_socket() const {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        throw_error(interface_, "cannot open a socket to join groups: {}{}", std::strerror(errno),
                    errno == EMFILE ? "; raise `ulimit -n`" : "");
    }
    (void)set_option(fd, IP_MULTICAST_ALL, int{0});
    return fd;
}

void KernelMembership::refuse(const Key& key, int error) const {
    const std::string group = key.source.value == 0
                                  ? to_string(key.group)
                                  : fmt::format("{} from {}", to_string(key.group), to_string(key.source));
    if (error == ENOBUFS) {
        throw_error(interface_,
                    "the kernel allows no more memberships, not even one on a new socket, for {}: raise {}",
                    group,
                    key.source.value == 0 ? "net.ipv4.igmp_max_memberships"
                                          : "net.ipv4.igmp_max_memberships or net.ipv4.igmp_max_msf");
    }
    if (error == ENODEV) {
        throw_error(interface_, "cannot join {}: the network interface has disappeared or has no multicast",
                    group);
    }
    throw_error(interface_, "cannot join {}: {}", group, std::strerror(error));
}

}  // namespace spead::port
