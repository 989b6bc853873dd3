// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

/// Unix sockets at which a device meets the process at its other end. That process is trusted: it shares the
/// memory that packets lie in.
namespace spead::drivers {

/// Why the socket at `path` is not one to connect to; none: it is. Another user's (not root's either), in a
/// directory where anybody can make one: nobody can put theirs in the place of ours or root's there, as far
/// as it is sticky. One that this process may not write to. Empty text: there is none yet.
std::optional<std::string> why_not_connect(const std::string& path);

}  // namespace spead::drivers
