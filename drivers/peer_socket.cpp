// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/peer_socket.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

namespace spead::drivers {

std::optional<std::string> why_not_connect(const std::string& path) {
    struct stat socket {};
    struct stat directory {};
    const std::string parent = std::filesystem::path(path).parent_path().string();
    if (::lstat(path.c_str(), &socket) != 0 || ::stat(parent.empty() ? "." : parent.c_str(), &directory) != 0)
        return std::string();
    const bool trusted = socket.st_uid == 0 || socket.st_uid == geteuid();
    if (!trusted && (directory.st_mode & S_IWOTH) != 0)
        return fmt::format(
            "the socket {} is user {}'s, in a directory where every user can make one, and its process would "
            "share this one's memory; use a directory of your own",
            path, socket.st_uid);
    if (S_ISSOCK(socket.st_mode) && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
        return fmt::format(
            "the socket {} is user {}'s, and this process may not write to it; run both ends as one "
            "user",
            path, socket.st_uid);
    return {};
}

}  // namespace spead::drivers
