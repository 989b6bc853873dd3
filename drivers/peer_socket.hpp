// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

/// Checks Unix sockets through which a device connects to the process at its other end. That process is
/// trusted: it shares the memory of the packets.
namespace spead::drivers {

/// Returns why the socket at `path` is unsafe to connect to; none: it is safe. It is unsafe if it is another
/// user's (except root's), in a directory where any user can make one. If that directory is sticky, no other
/// user can replace ours or root's socket. It is unusable if this process may not write to it. Empty text: it
/// does not exist yet.
std::optional<std::string> why_not_connect(const std::string& path);

}  // namespace spead::drivers
