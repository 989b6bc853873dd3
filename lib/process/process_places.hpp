// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

/// Lists the directories in which running processes of this program keep their sockets.
namespace spead::process {

/// Names a directory for sockets.
struct Place {
    std::string directory;
    uid_t owner = 0;  ///< only this user and root may listen there
    bool trusted =
        false;  ///< only this user, root, or a service that root has started can have made its entries
    bool operator==(const Place&) const = default;
};

/// Holds the inputs of the list; tests replace the machine's.
struct PlaceSearch {
    std::function<const char*(const char*)> environment;
    uid_t user = 0;
    std::string root{};  ///< prefix of /run and /tmp
};

/// Returns the existing directories called `kind` ("dpdk": EAL's, "dpdk-spead": control sockets), those of
/// this user first. Searches $RUNTIME_DIRECTORY, /run (root's), $XDG_RUNTIME_DIR, the services' directories
/// below /run and /run/dpdk-spead (RuntimeDirectory=), other users' /run/user/UID, and /tmp. None twice.
/// Follows only links that root has made.
std::vector<Place> process_places(std::string_view kind, const PlaceSearch& search);

/// Returns the sorted names of the entries without those that begin with a dot. Returns `most` at most, so
/// that another user's directory costs little time.
std::vector<std::string> entries_of(const std::string& directory, std::size_t most);

/// Returns whether the path itself, not through a link, is a socket, or a directory.
bool is_socket_file(const std::string& path);
bool is_directory_itself(const std::string& path);

}  // namespace spead::process
