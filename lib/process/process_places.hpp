// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

/// Directories in which running processes of this program keep their sockets, for all who look for one.
namespace spead::process {

/// A directory for sockets.
struct Place {
    std::string directory;
    uid_t owner = 0;  ///< who alone, beside root, may listen there
    bool trusted =
        false;  ///< only this user, root, or a service that root has started can have made its entries
    bool operator==(const Place&) const = default;
};

/// What the list depends on; tests put a made-up machine in place of this one.
struct PlaceSearch {
    std::function<const char*(const char*)> environment;
    uid_t user = 0;
    std::string root{};  ///< stands before /run and /tmp
};

/// The directories called `kind` ("dpdk": EAL's, "dpdk-spead": control sockets) that are there, those of this
/// user first: in $RUNTIME_DIRECTORY, /run (root's) and $XDG_RUNTIME_DIR, in what services have below /run
/// and /run/dpdk-spead (RuntimeDirectory=), in other users' /run/user/UID and in /tmp. None twice. Follows no
/// link that others than root can have made.
std::vector<Place> process_places(std::string_view kind, const PlaceSearch& search);

/// Names of the entries, sorted, those that begin with a dot left out: `most` of them at most, so that a
/// directory of somebody else's costs little time.
std::vector<std::string> entries_of(const std::string& directory, std::size_t most);

/// Whether the path is a socket, or a directory, itself and no link to one.
bool is_socket_file(const std::string& path);
bool is_directory_itself(const std::string& path);

}  // namespace spead::process
