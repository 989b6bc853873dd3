// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif_socket.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/own_directory.hpp"

namespace spead::drivers {

namespace {

/// Holds the PMD's own default, for a device that EAL makes; the next is ours, in the directory of this
/// user's sockets.
constexpr std::string_view kDefaultOfPmd = "/run/memif.sock";
constexpr std::string_view kDefaultName = "memif.sock";
constexpr std::size_t kMaxSocketName =
    106;  // sun_path, less the abstract address' leading zero and the terminator

/// Returns whether a socket is bound to the path. Tests with a socket of another type: the kernel
/// distinguishes the two cases (unix(7): EPROTOTYPE, ECONNREFUSED), and the listening process does not
/// notice. A short connection would make its PMD close a descriptor that EAL still watches.
bool answers(const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const bool nobody = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                        errno == ECONNREFUSED;
    ::close(fd);
    return !nobody;
}

std::string own_sockets() {
    return own_directory([](const char* name) { return std::getenv(name); }, geteuid());
}

/// Checks the directory of a socket file. prepare_memif_socket() makes it if it is that of this user's
/// sockets.
void check_directory(const std::string& path, const std::string& where) {
    std::string directory = std::filesystem::path(path).parent_path().string();
    struct stat facts {};
    if (directory == own_sockets() && ::stat(directory.c_str(), &facts) != 0) {
        directory = std::filesystem::path(directory).parent_path().string();
    }
    if (::stat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
        throw_error(where, "socket={}: there is no directory {}", path, directory);
    }
    if (::faccessat(AT_FDCWD, directory.c_str(), R_OK | W_OK, AT_EACCESS) != 0) {
        throw_error(where, "socket={}: the directory {} is not readable and writable", path, directory);
    }
}

/// Removes the socket of a dead process, which would keep the PMD from listening.
void remove_leftover(const std::string& path) {
    struct stat facts {};
    if (::lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) && !answers(path)) {
        ::unlink(path.c_str());
    }
}

}  // namespace

std::string memif_socket(const port::DeviceString& device) {
    return device.find("socket").value_or(std::string{kDefaultOfPmd});
}

bool is_abstract(const port::DeviceString& device, const std::string& where) {
    const std::string text = device.find("socket-abstract").value_or("yes");
    if (text != "yes" && text != "no") {
        throw_usage(where, "socket-abstract={} of {} is neither yes nor no", text, device.name());
    }
    return text == "yes";
}

void complete_memif_socket(port::DeviceString& device, const std::string& where) {
    if (!device.has("socket-abstract")) {
        device.add("socket-abstract", "no");
    }
    if (device.has("socket")) {
        return;
    }
    if (is_abstract(device, where)) {
        device.add("socket", std::string{kDefaultOfPmd});
        return;
    }
    const std::string directory = own_sockets();
    if (directory.empty()) {
        throw_error(where,
                    "XDG_RUNTIME_DIR is not set, so the socket of {} has no directory; give socket=PATH in a "
                    "directory of your own",
                    device.name());
    }
    device.add("socket", fmt::format("{}/{}", directory, kDefaultName));
}

void check_memif_socket(const port::DeviceString& device, bool client, const port::PortRequest& request) {
    const auto where = port::where(request);
    const std::string path = memif_socket(device);
    if (path.size() > kMaxSocketName) {
        throw_usage(
            where,
            "socket={} has {} characters, and a Unix socket's name has at most {}; give a shorter path", path,
            path.size(), kMaxSocketName);
    }
    if (is_abstract(device, where)) {
        return;
    }
    // It looks for the directory by faccessat() without a directory to begin at.
    if (!path.starts_with('/')) {
        throw_usage(where,
                    "socket={} is not an absolute path, which net_memif needs; write socket={}, or add "
                    "socket-abstract=yes for an address that every local user may connect to",
                    path, std::filesystem::absolute(path).lexically_normal().string());
    }
    check_directory(path, where);
    struct stat facts {};
    if (!client && !request.exists && ::lstat(path.c_str(), &facts) == 0) {
        if (!S_ISSOCK(facts.st_mode)) {
            throw_error(where, "socket={} exists and is not a socket; name another", path);
        }
        if (answers(path)) {
            throw_error(
                where, "socket={} is in use by another process; name another, or be role=client there", path);
        }
    }
}

void prepare_memif_socket(const std::string& path, bool client, const std::string& where) {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory == own_sockets()) {
        make_own_directory(directory, where);
    }
    if (!client) {
        remove_leftover(path);
    }
}

bool is_same_socket(const std::string& name, const std::string& other) {
    if (name == other) {
        return true;
    }
    if (name.empty() || other.empty() || name.front() == '\0' || other.front() == '\0') {
        return false;
    }
    std::error_code error;
    if (std::filesystem::equivalent(name, other, error) && !error) {
        return true;
    }
    const std::filesystem::path one(name);
    const std::filesystem::path two(other);
    return one.filename() == two.filename() &&
           std::filesystem::equivalent(one.parent_path() / ".", two.parent_path() / ".", error) && !error;
}

}  // namespace spead::drivers
