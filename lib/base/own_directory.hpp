// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>

namespace spead {

/// Returns the directory for the sockets of one user's processes: `dpdk-spead` below $RUNTIME_DIRECTORY (a
/// service's), below /run for root, below $XDG_RUNTIME_DIR for others. Empty when there is none.
/// `environment`: getenv, or a test's.
std::string own_directory(const std::function<const char*(const char*)>& environment, uid_t user);

/// Makes the directory; does nothing when it is there. Throws Error, with `where`.
void make_own_directory(const std::string& directory, const std::string& where);

}  // namespace spead
