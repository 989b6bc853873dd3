// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

/// Finds and removes EAL's files of processes, among them the sockets of its telemetry.
namespace spead::runtime {

/// Holds the name of a telemetry socket in a process's directory. A second process with the same prefix gets
/// ":1" appended (EAL 22.11, lib/telemetry/telemetry.c).
inline constexpr std::string_view kTelemetrySocket = "dpdk_telemetry.v2";

/// Returns the directory of this process's user that holds one directory per --file-prefix, by EAL's rule
/// (eal_create_runtime_dir): $RUNTIME_DIRECTORY, else /var/run for root, $XDG_RUNTIME_DIR or /tmp for others.
std::string eal_directory();

/// Removes the files below `directory` of ended processes of this user with the name PREFIX.PID (a crash,
/// kill -9). It removes empty directories, and those with EAL's files alone, if their sockets are unbound and
/// their configuration is unlocked. Does nothing for an empty prefix.
void remove_dead_directories(const std::string& directory, std::string_view prefix) noexcept;

/// Removes the directory of a process that ends, with EAL's files in it. If it has other files, it stays.
void remove_directory_of_eal(const std::string& directory) noexcept;

/// Returns whether a process with this --file-prefix can have a telemetry socket. Paths of sockets are short,
/// and EAL refuses to start without the socket.
bool telemetry_socket_fits(std::string_view file_prefix);

}  // namespace spead::runtime
