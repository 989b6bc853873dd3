// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "port/device_string.hpp"
#include "port/driver.hpp"

/// Finds the socket of a memif's two ends: a file that only this user may open, unless the device says
/// otherwise.
namespace spead::drivers {

/// Returns the socket's path or abstract name; the PMD's own default if the device has none.
std::string memif_socket(const port::DeviceString& device);

/// Returns whether the address is an abstract one, as it is by the PMD's default. That matters only for a
/// device that EAL makes: complete_memif_socket() writes ours into all others.
bool is_abstract(const port::DeviceString& device, const std::string& where);

/// Adds `socket-abstract=no` and the path in the directory of this user's sockets, where the device lacks
/// them. Throws Error when there is no such directory.
void complete_memif_socket(port::DeviceString& device, const std::string& where);

/// Throws UsageError or Error when the device cannot connect to its peer there.
void check_memif_socket(const port::DeviceString& device, bool client, const port::PortRequest& request);

/// Prepares the socket before the device is made: makes the directory if it is that of this user's sockets.
/// For a server it removes the socket of a dead process, which would keep the PMD from listening. Throws
/// Error.
void prepare_memif_socket(const std::string& path, bool client, const std::string& where);

/// Returns whether two names of sockets, as in sun_path, mean the same one: paths may be spelled in several
/// ways, also after the file has gone.
bool is_same_socket(const std::string& name, const std::string& other);

}  // namespace spead::drivers
