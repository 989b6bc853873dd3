// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/control_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/named_sockets.hpp"
#include "base/error.hpp"
#include "base/own_directory.hpp"
#include "base/socket_file.hpp"
#include "base/user_name.hpp"
#include "runtime/descriptors.hpp"

namespace spead::app {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAttachGreeting = "dpdk-spead-attach 1 ";
/// Limits the bytes of a frame's first line, its end included.
constexpr std::size_t kLongestHead = 32;
/// Limits the wait of `attach` to be accepted. Look-ups do not wait.
constexpr std::chrono::seconds kAttachPatience{10};
constexpr std::chrono::milliseconds kGlance{1};
constexpr std::size_t kLongestFrame = std::size_t{64} << 20;

FileDescriptor new_socket() {
    FileDescriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!made)
        throw_error("control", "no socket: {}", std::strerror(errno));
    return made;
}

/// Connects. Returns 0, or the error. EAGAIN: a process listens there, and has accepted no connection for
/// `patience`.
int connect_socket(const FileDescriptor& socket, const std::string& path,
                   std::chrono::milliseconds patience) {
    const sockaddr_un address = unix_address(path);
    // A connection waits as long as a write may (unix(7)): without a bound if none is set.
    const auto us = std::max<std::int64_t>(1, std::chrono::microseconds(patience).count());
    const timeval bound{us / 1'000'000, us % 1'000'000};
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    if (connect(socket.get(), as_address(address), sizeof address) != 0)
        return errno;
    const timeval none{};
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    return 0;
}

std::string owner_of(const std::string& path) {
    struct stat there {};
    return stat(path.c_str(), &there) == 0 ? user_name(there.st_uid) : std::string("another");
}

/// Makes the directory of a socket, if it is one for sockets by name, and returns its place. Throws Error.
OutputPlace made_directory(const std::string& path) {
    // Clients connect by this path, if this process does not.
    unix_address(path);
    // Services have directories of their own below root's: others may look.
    constexpr mode_t kMode = 0755;
    const fs::path directory = fs::path(path).parent_path();
    if (directory.filename() != "dpdk-spead")
        return {};
    OutputPlace place = find_output(directory.string());
    if (place.directory.file && mkdirat(place.directory.file.get(), place.name.c_str(), kMode) != 0 &&
        errno != EEXIST)
        throw_error(path, "cannot make the directory {}: {}", directory.string(), std::strerror(errno));
    return place;
}

/// Returns whether the process that has answered may listen there: links lead elsewhere.
bool listens_rightly(const FileDescriptor& socket, const NamedSocket& there) {
    const auto peer = peer_of(socket.get());
    return peer && (peer->uid == there.owner || peer->uid == 0);
}

/// Returns the names of sockets with a listening process.
std::vector<std::string> living(const std::vector<NamedSocket>& sockets) {
    std::vector<std::string> names;
    for (const NamedSocket& s : sockets) {
        const FileDescriptor socket = new_socket();
        const int error = connect_socket(socket, s.path, kGlance);
        // If a process is too busy to accept, only its name is known.
        if (error == EAGAIN || (error == 0 && listens_rightly(socket, s)))
            names.push_back(s.name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// Throws Error when there is a process that cannot be attached to; returns when there is none.
void explain(const std::string& path, int error) {
    if (error == EAGAIN)
        throw_error(path, "the process has not accepted the connection for {} s: it is stopped, or very busy",
                    kAttachPatience.count());
    if (error == EACCES || error == EPERM)
        throw_error(path, "it belongs to user {}; attach as that user or as root", owner_of(path));
    if (error != ENOENT && error != ENOTDIR && error != ECONNREFUSED)
        throw_error(path, "cannot attach: {}", std::strerror(error));
}

[[noreturn]] void nobody_there(const std::string& target, const std::vector<NamedSocket>& sockets) {
    const std::vector<std::string> names = living(sockets);
    const std::string others =
        names.empty() ? "and no process has a control socket; `run` makes one, as `--control auto` does with "
                        "other commands"
                      : fmt::format("but at {}", fmt::join(names, ", "));
    throw_error("attach", "nothing listens at `{}`, {}", target, others);
}

}  // namespace

std::string Greeting::text() const {
    return fmt::format("{}{} {}\n", kAttachGreeting,
                       interactive ? "keys"
                       : lone      ? "command"
                                   : "commands",
                       directory);
}

std::optional<Greeting> Greeting::parse(std::string_view line) {
    if (!line.starts_with(kAttachGreeting))
        return std::nullopt;
    line.remove_prefix(kAttachGreeting.size());
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view mode = line.substr(0, blank);
    if (mode != "keys" && mode != "commands" && mode != "command")
        return std::nullopt;
    return Greeting{mode == "keys", std::string(line.substr(std::min(blank + 1, line.size()))),
                    mode == "command"};
}

std::string Frame::bytes() const {
    return fmt::format("{} {}\n{}", kind, text.size(), text);
}

std::optional<Frame> Frame::take(std::string& buffer) {
    // However it comes in pieces, a longer first line is refused.
    const std::size_t end = std::string_view(buffer).substr(0, kLongestHead).find('\n');
    if (end == std::string::npos && buffer.size() < kLongestHead)
        return std::nullopt;
    std::size_t size = 0;
    const auto is_size = [&] {
        const auto [rest, error] = std::from_chars(buffer.data() + 2, buffer.data() + end, size);
        return error == std::errc{} && rest == buffer.data() + end && size <= kLongestFrame;
    };
    if (end == std::string::npos || end < 3 || buffer[1] != ' ' ||
        std::string_view("oes").find(buffer[0]) == std::string_view::npos || !is_size())
        throw_error("attach", "the process at this socket is not dpdk-spead of this version");
    if (buffer.size() - end - 1 < size)
        return std::nullopt;
    Frame frame{buffer[0], buffer.substr(end + 1, size)};
    buffer.erase(0, end + 1 + size);
    return frame;
}

std::string socket_path(const std::string& control, const std::string& name, const Environment& environment,
                        uid_t user) {
    if (control != "auto")
        return control;
    const std::string directory = own_directory(environment, user);
    if (directory.empty())
        throw_error("--control", "XDG_RUNTIME_DIR is not set, so the socket has no directory; give a path");
    return fmt::format("{}/{}{}", directory, name, kControlSuffix);
}

ControlSocket::ControlSocket(std::string path)
    : path_(std::move(path)), directory_(made_directory(path_)), file_(path_, path_) {
    socket_ = file_.listen(0, fmt::format("attach to it (dpdk-spead attach {}), end it, or give this one "
                                          "another [runtime] name or --control PATH",
                                          fs::path(path_).stem().string()));
}

ControlSocket::~ControlSocket() {
    file_.remove();
    // Only an empty one.
    if (directory_.directory.file)
        unlinkat(directory_.directory.file.get(), directory_.name.c_str(), AT_REMOVEDIR);
}

int ControlSocket::accept(FileDescriptor& connection, std::string& refusal) const {
    refusal.clear();
    connection = FileDescriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection)
        return errno;
    if (runtime::is_one_of_the_last(connection.get()))
        refusal = "this process has too few file descriptors left";
    const auto peer = peer_of(connection.get());
    if (!peer || (peer->uid != 0 && peer->uid != geteuid()))
        refusal = fmt::format("this process belongs to user {}; only they and root may attach to it",
                              user_name(geteuid()));
    return 0;
}

FileDescriptor connect_to(const std::string& target, const Environment& environment, uid_t user) {
    if (target.find('/') != std::string::npos) {
        FileDescriptor socket = new_socket();
        const int error = connect_socket(socket, target, kAttachPatience);
        if (error == 0)
            return socket;
        explain(target, error);
        nobody_there(target, named_sockets({environment, user}));
    }
    const std::vector<NamedSocket> sockets = named_sockets({environment, user});
    if (target.empty()) {
        const std::vector<std::string> names = living(sockets);
        if (names.size() > 1)
            throw_error("attach", "several processes run: {}; give one of them", fmt::join(names, ", "));
        if (names.empty())
            throw_error(
                "attach",
                "no process has a control socket; `run` makes one, as `--control auto` does with other "
                "commands");
        return connect_to(names.front(), environment, user);
    }
    FileDescriptor found;
    std::string path;
    for (const NamedSocket& s : sockets) {
        if (s.name != target)
            continue;
        FileDescriptor socket = new_socket();
        if (const int error = connect_socket(socket, s.path, kAttachPatience); error != 0) {
            if (!found)
                explain(s.path, error);
            continue;
        }
        if (!listens_rightly(socket, s))
            continue;
        // This user's own come first.
        if (s.owner == user)
            return socket;
        if (found)
            throw_error("attach", "two processes are called `{}`; give one's path: {} or {}", target, path,
                        s.path);
        found = std::move(socket);
        path = s.path;
    }
    if (found)
        return found;
    nobody_there(target, sockets);
}

}  // namespace spead::app
