// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/start_lock.hpp"

namespace spead {

namespace {

constexpr int kSocketBacklog = 64;

/// Holds what a connection to a socket finds out.
struct Listener {
    int error = 0;  ///< errno; 0: a process listens
    pid_t pid = 0;  ///< 0: it is unknown which
};

Listener listener_at(const sockaddr_un& address) {
    const FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe)
        return {errno, 0};
    if (connect(probe.get(), as_address(address), sizeof address) != 0)
        // EAGAIN: it listens, and accepts nobody at the moment.
        return {errno == EAGAIN ? 0 : errno, 0};
    // If a process has just ended, the kernel may not know it any more.
    const auto peer = peer_of(probe.get());
    return {0, peer ? peer->pid : 0};
}

bool is_nobody(int error) {
    return error == ECONNREFUSED || error == ENOENT || error == ENOTDIR;
}

}  // namespace

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw_usage(path, "it is too long for a socket: {} characters of {}; give a shorter one", path.size(),
                    sizeof address.sun_path - 1);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

const sockaddr* as_address(const sockaddr_un& address) {
    return static_cast<const sockaddr*>(static_cast<const void*>(&address));
}

std::optional<ucred> peer_of(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return std::nullopt;
    return peer;
}

std::optional<pid_t> who_listens(const std::string& path) {
    const Listener found = listener_at(unix_address(path));
    if (found.error == 0)
        return found.pid;
    if (!is_nobody(found.error))
        throw_error(path, "cannot find the process that listens at this socket: {}",
                    std::strerror(found.error));
    return std::nullopt;
}

SocketFile::SocketFile(const std::string& path, std::string where)
    : where_(std::move(where)), place_(find_output(path)) {
    if (!place_.directory.file)
        throw_error(where_, "cannot listen at this path: {}", place_.directory.reason);
}

SocketFile::~SocketFile() {
    remove();
}

FileDescriptor SocketFile::listen(int flags, const std::string& cure) {
    // The name of the open directory: nobody can exchange a part of its path.
    const std::string through = fmt::format("/proc/self/fd/{}/{}", place_.directory.file.get(), place_.name);
    if (const std::size_t longest = sizeof(sockaddr_un::sun_path) - 1; through.size() > longest)
        throw_error(where_, "the name has {} bytes, and there is room for {}; give a shorter one",
                    place_.name.size(), longest - (through.size() - place_.name.size()));
    // If two processes start at once, one looks and binds first.
    const StartLock lock(place_, where_);
    remove_dead(through, cure);
    FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
    const sockaddr_un address = unix_address(through);
    // Before it has a name, which gets this mode: nobody else may connect at any time.
    if (!listener || fchmod(listener.get(), 0600) != 0 ||
        bind(listener.get(), as_address(address), sizeof address) != 0 ||
        ::listen(listener.get(), kSocketBacklog) != 0)
        throw_error(where_, "cannot listen at this path: {}", std::strerror(errno));
    inode_ = inode();
    return listener;
}

/// Removes the socket of an ended process. Throws Error when there is something else.
void SocketFile::remove_dead(const std::string& through, const std::string& cure) const {
    struct stat there {};
    const int directory = place_.directory.file.get();
    if (fstatat(directory, place_.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISSOCK(there.st_mode))
        throw_error(where_, "it is a file, not a socket; give another path");
    const Listener found = listener_at(unix_address(through));
    if (found.error == 0)
        throw_error(where_, "{} already listens at this path; {}",
                    found.pid != 0 ? fmt::format("process {}", found.pid) : std::string("a process"), cure);
    // All other errors leave it open whether one does.
    if (!is_nobody(found.error))
        throw_error(where_, "a process may listen at this path already ({}); {}", std::strerror(found.error),
                    cure);
    unlinkat(directory, place_.name.c_str(), 0);
}

std::uint64_t SocketFile::inode() const noexcept {
    struct stat there {};
    return fstatat(place_.directory.file.get(), place_.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0
               ? there.st_ino
               : 0;
}

void SocketFile::remove() noexcept {
    if (place_.directory.file && inode_ != 0 && inode() == inode_)
        unlinkat(place_.directory.file.get(), place_.name.c_str(), 0);
    inode_ = 0;
}

}  // namespace spead
