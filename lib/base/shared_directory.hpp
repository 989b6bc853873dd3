// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace spead {

/// Returns a directory for files that this process writes and its operator reads. A service has a /tmp and a
/// /var/tmp of its own (PrivateTmp of systemd), so it is the state directory of a service.
inline std::string shared_directory() {
    const char* const given = std::getenv("STATE_DIRECTORY");
    const std::string_view all = given == nullptr ? "" : given;
    return all.starts_with('/') ? std::string(all.substr(0, all.find(':'))) : std::string("/var/tmp");
}

}  // namespace spead
