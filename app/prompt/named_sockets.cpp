// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/named_sockets.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace spead::app {

namespace {

/// Limits the sockets of one directory. A service has one; this user may have many.
constexpr std::size_t kMostControlSockets = 512;

}  // namespace

std::vector<NamedSocket> named_sockets(const process::PlaceSearch& search) {
    std::vector<NamedSocket> found;
    for (const process::Place& place : process::process_places("dpdk-spead", search)) {
        if (!place.trusted)
            continue;
        for (const std::string& entry : process::entries_of(place.directory, kMostControlSockets)) {
            std::string path = fmt::format("{}/{}", place.directory, entry);
            if (entry.ends_with(kControlSuffix) && process::is_socket_file(path))
                found.push_back(
                    {entry.substr(0, entry.size() - kControlSuffix.size()), std::move(path), place.owner});
        }
    }
    std::stable_partition(found.begin(), found.end(),
                          [&search](const NamedSocket& s) { return s.owner == search.user; });
    return found;
}

}  // namespace spead::app
