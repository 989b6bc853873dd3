// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

/// Where EAL keeps the files of running processes, among them the sockets of its telemetry.
namespace spead::runtime {

/// The name of a telemetry socket in a process's directory; a second process with the same prefix gets
/// ":1" appended (EAL 22.11, lib/telemetry/telemetry.c).
inline constexpr std::string_view kTelemetrySocket = "dpdk_telemetry.v2";

/// The directory of this process's user that holds one directory per --file-prefix, by EAL's rule
/// (eal_create_runtime_dir): $RUNTIME_DIRECTORY, else /var/run for root, $XDG_RUNTIME_DIR or /tmp for others.
std::string eal_directory();

/// Removes what processes of this user have left below `directory` that were called PREFIX.PID and are no
/// more (a crash, kill -9): empty directories, and those with nothing but EAL's files, whose sockets nobody
/// has and whose configuration nobody has locked. Nothing for an empty prefix.
void remove_dead_directories(const std::string& directory, std::string_view prefix) noexcept;

/// Removes the directory of a process that ends, with EAL's files in it. It stays if others are there.
void remove_directory_of_eal(const std::string& directory) noexcept;

/// Whether a process with this --file-prefix can have a telemetry socket: paths of sockets are short, and EAL
/// refuses to start rather than go without.
bool telemetry_socket_fits(std::string_view file_prefix);

}  // namespace spead::runtime
