// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "process/process_places.hpp"

/// Lists control sockets that can be attached to by a name.
namespace spead::app {

inline constexpr std::string_view kControlSuffix = ".sock";

struct NamedSocket {
    std::string name;
    std::string path;
    uid_t owner = 0;  ///< only this user and root may listen there
    bool operator==(const NamedSocket&) const = default;
};

/// Returns the sockets in the directories of this user, of root and of services, this user's first. Some may
/// have no listener any more. Other users' are left out, because they could take any name.
std::vector<NamedSocket> named_sockets(const process::PlaceSearch& search);

}  // namespace spead::app
