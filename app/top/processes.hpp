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

/// Running processes of this program, as far as their telemetry can be reached.
namespace spead::app {

struct RunningProcess {
    std::string name;  ///< [runtime] name
    std::int64_t pid = 0;
    std::string socket;  ///< of its telemetry
    uid_t user = 0;      ///< who runs it
    bool operator==(const RunningProcess&) const = default;
};

/// Those that answer at EAL's directories ("dpdk", process_places()), by name and pid. Sockets that nobody
/// serves any more, other programs', and those of another user than their directory's are passed over.
/// Somebody who does not answer holds up the search for a second, and all of them together for `patience`.
std::vector<RunningProcess> find_processes(std::span<const process::Place> places,
                                           std::chrono::milliseconds patience);

/// The processes meant by `wanted`: a name, a pid, NAME.PID, or all when it is empty.
std::vector<RunningProcess> fitting(const std::string& wanted, const std::vector<RunningProcess>& running);

/// The one of fitting(). Throws Error that lists what there is when there is none, or are several; it names
/// the users of those that are not `user`'s.
RunningProcess choose_process(const std::string& wanted, const std::vector<RunningProcess>& running,
                              uid_t user);

/// The one meant by `wanted`, or that serves the socket when it is a path (with a `/`). Processes of this
/// user, of root and of services come first; of others only where none of these is meant. Throws Error as
/// choose_process().
RunningProcess find_process(const std::string& wanted, const process::PlaceSearch& search);

}  // namespace spead::app
