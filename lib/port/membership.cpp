// SPDX-License-Identifier: BSD-3-Clause
#include "port/membership.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/group_membership.hpp"
#include "base/interruptible.hpp"
#include "base/socket_address.hpp"

namespace spead::port {

namespace {

/// Returns the settings that limit the memberships of a socket.
const char* limits_of(const IpAddress& group, bool any_source) {
    if (group.is_v6())
        return any_source ? "net.core.optmem_max" : "net.core.optmem_max or net.ipv6.mld_max_msf";
    return any_source ? "net.ipv4.igmp_max_memberships"
                      : "net.ipv4.igmp_max_memberships or net.ipv4.igmp_max_msf";
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
    const int family = family_of(key.group);
    const auto last = std::find_if(sockets_.rbegin(), sockets_.rend(),
                                   [family](const Socket& s) { return s.family == family; });
    if (last != sockets_.rend() && fits(*last, key)) {
        const int error = try_join(last->fd, key);
        if (error == 0) {
            last->keys.insert(key);
            return;
        }
        if (error != ENOBUFS) {
            refuse(key, error);
        }
    }
    const int fd = open_socket(family);
    if (const int error = try_join(fd, key); error != 0) {
        ::close(fd);
        refuse(key, error);
    }
    sockets_.push_back({family, fd, {key}});
}

/// Returns whether the socket can take the join. One socket cannot want a group from any source and from a
/// named one: the kernel would replace the former.
bool KernelMembership::fits(const Socket& socket, const Key& key) const {
    return std::ranges::none_of(socket.keys, [&](const Key& other) {
        return other.group == key.group && (other.source == IpAddress{}) != (key.source == IpAddress{});
    });
}

int KernelMembership::try_join(int fd, const Key& key) const {
    return change_group(fd, GroupChange::join, key.group, key.source, if_index_);
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
    (void)change_group(socket->fd, GroupChange::leave, key.group, key.source, if_index_);
}

int KernelMembership::open_socket(int family) const {
    const int fd = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        throw_error(interface_, "cannot open a socket to join groups: {}{}", std::strerror(errno),
                    errno == EMFILE ? "; raise `ulimit -n`" : "");
    }
    (void)hear_own_groups(fd, family);
    return fd;
}

void KernelMembership::refuse(const Key& key, int error) const {
    const std::string group = key.source == IpAddress{}
                                  ? to_string(key.group)
                                  : fmt::format("{} from {}", to_string(key.group), to_string(key.source));
    if (error == ENOBUFS) {
        throw_error(interface_,
                    "the kernel allows no more memberships, not even one on a new socket, for {}: raise {}",
                    group, limits_of(key.group, key.source == IpAddress{}));
    }
    if (error == ENODEV) {
        throw_error(interface_, "cannot join {}: the network interface has disappeared or has no multicast",
                    group);
    }
    throw_error(interface_, "cannot join {}: {}", group, std::strerror(error));
}

}  // namespace spead::port
