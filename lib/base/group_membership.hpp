// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/endpoint.hpp"

/// Changes which multicast groups a socket hears, alike for IPv4 and IPv6 (RFC 3678, "protocol-independent").
namespace spead {

enum class GroupChange : std::uint8_t { join, leave };

/// Joins or leaves a group on an interface, by the kernel's number (0: the kernel's choice). `source`: the
/// only sender to hear; 0.0.0.0: all. Returns 0, or errno.
int change_group(int fd, GroupChange change, const IpAddress& group, const IpAddress& source,
                 unsigned interface) noexcept;

/// Keeps the groups that only other sockets have joined from a socket of this family. Returns 0, or errno.
int hear_own_groups(int fd, int family) noexcept;

}  // namespace spead
