// SPDX-License-Identifier: BSD-3-Clause
#include "base/group_membership.hpp"

#include <cerrno>
#include <netinet/in.h>

#include "base/socket_address.hpp"

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29  // Linux 4.20
#endif

namespace spead {

namespace {

template <class Value>
int set_option(int fd, int family, int option, const Value& value) noexcept {
    const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

}  // namespace

int change_group(int fd, GroupChange change, const IpAddress& group, const IpAddress& source,
                 unsigned interface) noexcept {
    const int family = family_of(group);
    const bool joins = change == GroupChange::join;
    if (source == IpAddress{}) {
        group_req request{};
        request.gr_interface = interface;
        request.gr_group = socket_address(group, 0, interface).storage;
        return set_option(fd, family, joins ? MCAST_JOIN_GROUP : MCAST_LEAVE_GROUP, request);
    }
    group_source_req request{};
    request.gsr_interface = interface;
    request.gsr_group = socket_address(group, 0, interface).storage;
    request.gsr_source = socket_address(source, 0, interface).storage;
    return set_option(fd, family, joins ? MCAST_JOIN_SOURCE_GROUP : MCAST_LEAVE_SOURCE_GROUP, request);
}

int hear_own_groups(int fd, int family) noexcept {
    return set_option(fd, family, family == AF_INET ? IP_MULTICAST_ALL : IPV6_MULTICAST_ALL, int{0});
}

}  // namespace spead
