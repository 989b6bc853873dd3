// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Running processes of this program, as far as their telemetry can be reached.
namespace spead::app {

struct RunningProcess {
    std::string name;  ///< [runtime] name
    std::int64_t pid = 0;
    std::string socket;  ///< of its telemetry
    bool operator==(const RunningProcess&) const = default;
};

/// Directories that may hold EAL's of running processes: that of this user, of services (RuntimeDirectory=),
/// of other users (root sees them).
std::vector<std::string> process_directories();

/// Those that answer, by name and pid. Sockets that nobody serves any more, and other programs', are passed
/// over.
std::vector<RunningProcess> find_processes(std::span<const std::string> directories);

/// The one meant by `wanted`: a name, a pid, a socket's path (has a `/`; not looked for among `running`), or
/// the only one when it is empty. Throws Error that lists what there is.
RunningProcess choose_process(const std::string& wanted, const std::vector<RunningProcess>& running);

}  // namespace spead::app
