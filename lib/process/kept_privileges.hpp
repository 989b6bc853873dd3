// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/privileges.hpp"
#include "port/driver.hpp"
#include "runtime/plan.hpp"

/// What of root's power a run keeps after its start, and the giving up of the rest.
namespace spead::process {

/// What the ports need, and CAP_NET_BIND_SERVICE where a stream has a unicast endpoint below port 1024.
Privileges privileges_after_start(std::span<const port::PlannedPort> ports, const runtime::Plan& plan);

/// A file or directory that the run opens after its start, or makes something in.
struct PathInUse {
    std::string path;
    int access = 0;  ///< R_OK, W_OK
    bool operator==(const PathInUse&) const = default;
};

/// What the plan has opened or made during the run: of sinks, captures and ports. None twice.
std::vector<PathInUse> paths_in_use(std::span<const port::PlannedPort> ports, const runtime::Plan& plan);
/// Adds a file that is written, and its directory; nothing for an empty path or "-".
void add_written(std::vector<PathInUse>& paths, const std::string& file);
void add_read(std::vector<PathInUse>& paths, const std::string& file);

/// The first of those that this process may use so with its capabilities and not without: it is another
/// user's. Empty: none.
std::string needs_override(const std::vector<PathInUse>& paths);

/// Every thread keeps `kept` of what it has, and CAP_DAC_OVERRIDE where one of the paths needs it. Says what
/// is kept in the log (info), and which threads could not be reached (warning).
void give_up_privileges(Privileges kept, const std::vector<PathInUse>& paths);

}  // namespace spead::process
