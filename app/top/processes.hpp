// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

#include "process/process_places.hpp"

/// Lists running processes of this program, as far as their telemetry can be reached.
namespace spead::app {

struct RunningProcess {
    std::string name;  ///< [runtime] name
    std::int64_t pid = 0;
    std::string socket;  ///< of its telemetry
    uid_t user = 0;      ///< its user
    bool operator==(const RunningProcess&) const = default;
};

/// Returns processes that answer at EAL's directories ("dpdk", process_places()), by name and pid. Skips
/// sockets without a process, of other programs, and of another user than their directory's. A process that
/// does not answer delays the search for a second, and all of them together for `patience`. Those in
/// directories that `wanted` names (fitting()) come first, and have all of that time.
std::vector<RunningProcess> find_processes(std::span<const process::Place> places,
                                           std::chrono::milliseconds patience,
                                           const std::string& wanted = {});

/// Returns the processes that `wanted` names: a name, a pid, NAME.PID, or all when it is empty.
std::vector<RunningProcess> fitting(const std::string& wanted, const std::vector<RunningProcess>& running);

/// Returns the one of fitting(). If there is none, or several, throws Error that lists the running ones, with
/// the users of those that are not `user`'s.
RunningProcess choose_process(const std::string& wanted, const std::vector<RunningProcess>& running,
                              uid_t user);

/// Returns the process that `wanted` names, or the one that serves the socket if it is a path (with a `/`).
/// Processes of this user, of root and of services come first; others are considered only if none of these
/// matches. Throws Error as choose_process().
RunningProcess find_process(const std::string& wanted, const process::PlaceSearch& search);

}  // namespace spead::app
