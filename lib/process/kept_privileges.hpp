// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/privileges.hpp"
#include "port/driver.hpp"
#include "runtime/plan.hpp"

/// Decides which of root's capabilities a run keeps after its start, and drops the others.
namespace spead::process {

/// Returns the needs of the ports. Adds CAP_NET_BIND_SERVICE if a stream has an endpoint below port 1024
/// that is unicast or on net_kernel, and CAP_IPC_LOCK if one has pinned chunks.
Privileges privileges_after_start(std::span<const port::PlannedPort> ports, const runtime::Plan& plan);

/// Names a file or directory that the run opens after its start, or makes something in.
struct PathInUse {
    std::string path;
    int access = 0;  ///< R_OK, W_OK
    bool operator==(const PathInUse&) const = default;
};

/// Returns the files and directories that the plan opens or makes during the run: of sinks, captures and
/// ports. None twice.
std::vector<PathInUse> paths_in_use(std::span<const port::PlannedPort> ports, const runtime::Plan& plan);
/// Adds a written file, and its directory; nothing for an empty path or "-".
void add_written(std::vector<PathInUse>& paths, const std::string& file);
void add_read(std::vector<PathInUse>& paths, const std::string& file);

/// Returns the first path that this process may use so only with its capabilities, because it is another
/// user's. Empty: none.
std::string needs_override(const std::vector<PathInUse>& paths);

/// Reduces every thread to `kept` of its capabilities, and CAP_DAC_OVERRIDE if one of the paths needs it.
/// Logs the kept ones (info), and threads that did not respond (warning).
void give_up_privileges(Privileges kept, const std::vector<PathInUse>& paths);

}  // namespace spead::process
