// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "base/file_descriptor.hpp"
#include "base/open_output.hpp"

namespace spead::runtime {

namespace {

/// Returns whether the suffix is ".PID" of a process that does not exist.
bool is_dead(std::string_view suffix) {
    pid_t pid = 0;
    if (suffix.size() < 2 || suffix.front() != '.')
        return false;
    const auto [stop, error] = std::from_chars(suffix.data() + 1, suffix.data() + suffix.size(), pid);
    return error == std::errc{} && stop == suffix.data() + suffix.size() && pid > 0 && kill(pid, 0) != 0 &&
           errno == ESRCH;
}

/// Opens a directory for reading, which is no link. Nothing in it is found by a path: another user may
/// exchange what stands above it.
FileDescriptor open_to_list(int from, const char* name) {
    return FileDescriptor(openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::vector<std::string> names_in(const FileDescriptor& directory) {
    std::vector<std::string> names;
    FileDescriptor copy = open_to_list(directory.get(), ".");
    const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(copy.get()), closedir);
    if (open)
        static_cast<void>(copy.release());
    for (const dirent* entry = nullptr; open && (entry = readdir(open.get())) != nullptr;)
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    return names;
}

bool is_ours(const FileDescriptor& directory) {
    struct stat facts {};
    return directory && fstat(directory.get(), &facts) == 0 && facts.st_uid == geteuid();
}

/// Returns whether no socket is bound to the name, of a process in this container or in another one. The
/// socket's type does not matter: the kernel says ECONNREFUSED only if no process has it (unix(7)).
bool is_dead_socket(const FileDescriptor& directory, const std::string& name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string through = fmt::format("/proc/self/fd/{}/{}", directory.get(), name);
    const FileDescriptor probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe || through.size() >= sizeof address.sun_path)
        return false;
    through.copy(address.sun_path, through.size());
    return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
           errno == ECONNREFUSED;
}

/// Returns whether no process has locked the file. EAL locks its `config` while it runs.
bool is_unlocked(const FileDescriptor& directory, const std::string& name) {
    const FileDescriptor file(
        openat(directory.get(), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct flock lock {};
    lock.l_type = F_WRLCK;
    return file && fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/// Returns whether EAL or its telemetry makes a file of this name in a process's directory.
bool is_eals(std::string_view name) {
    return name == "config" || name == "hugepage_info" || name == "hugepage_data" ||
           name.starts_with("fbarray_") || name.starts_with("mp_socket") ||
           name.starts_with(kTelemetrySocket);
}

/// Returns whether EAL made the file for a process that has ended.
bool is_dead(const FileDescriptor& directory, const std::string& name) {
    struct stat facts {};
    if (!is_eals(name) || fstatat(directory.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return S_ISSOCK(facts.st_mode) ? is_dead_socket(directory, name)
                                   : name != "config" || is_unlocked(directory, name);
}

void remove_dead_directory(const FileDescriptor& above, const std::string& name) {
    const FileDescriptor directory = open_to_list(above.get(), name.c_str());
    if (!is_ours(directory))
        return;
    const std::vector<std::string> files = names_in(directory);
    if (!std::all_of(files.begin(), files.end(), [&](const auto& f) { return is_dead(directory, f); }))
        return;
    for (const std::string& file : files)
        unlinkat(directory.get(), file.c_str(), 0);
    unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace

std::string eal_directory() {
    const char* directory = std::getenv("RUNTIME_DIRECTORY");
    if (directory == nullptr && getuid() == 0)
        directory = "/var/run";
    if (directory == nullptr)
        directory = std::getenv("XDG_RUNTIME_DIR");
    return std::string(directory == nullptr ? "/tmp" : directory) + "/dpdk";
}

void remove_dead_directories(const std::string& directory, std::string_view prefix) noexcept {
    const OpenedOutput found = open_output_directory(directory);
    if (prefix.empty() || !found.file)
        return;
    const FileDescriptor above = open_to_list(found.file.get(), ".");
    for (const std::string& name : names_in(above))
        if (name.starts_with(prefix) && is_dead(std::string_view(name).substr(prefix.size())))
            remove_dead_directory(above, name);
}

void remove_directory_of_eal(const std::string& directory) noexcept {
    const OutputPlace place = find_output(directory);
    if (!place.directory.file)
        return;
    const int above = place.directory.file.get();
    const FileDescriptor own = open_to_list(above, place.name.c_str());
    if (!is_ours(own))
        return;
    for (const std::string& file : names_in(own))
        if (is_eals(file))
            unlinkat(own.get(), file.c_str(), 0);
    unlinkat(above, place.name.c_str(), AT_REMOVEDIR);
}

bool telemetry_socket_fits(std::string_view file_prefix) {
    // ":99" of a namesake, and the byte that ends the path.
    constexpr std::size_t kMore = 4;
    return eal_directory().size() + 1 + file_prefix.size() + 1 + kTelemetrySocket.size() + kMore <=
           sizeof(sockaddr_un::sun_path);
}

}  // namespace spead::runtime
