// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "port/host.hpp"

/// Checks shared by the families that sit on a kernel network interface. Internal to drivers/.
namespace spead::drivers {

/// The interface's facts. Throws Error unless it exists, carries Ethernet frames and is up.
port::NetdevFacts usable_interface(const std::string& name, const std::string& where,
                                   const port::Host& host = port::this_host());

/// Throws Error naming the missing capability unless this process may open packet sockets.
void check_packet_socket(const std::string& device, const std::string& where);

}  // namespace spead::drivers
