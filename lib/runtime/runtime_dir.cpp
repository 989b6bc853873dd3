// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <vector>

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

/// Returns whether no socket is bound to the path, of a process in this container or in another one. The
/// socket's type does not matter: the kernel says ECONNREFUSED only if no process has it (unix(7)).
bool is_dead_socket(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = path.string();
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || text.size() >= sizeof address.sun_path) {
        close(fd);
        return false;
    }
    text.copy(address.sun_path, text.size());
    const bool refused = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                         errno == ECONNREFUSED;
    close(fd);
    return refused;
}

/// Returns whether no process has locked the file. EAL locks its `config` while it runs.
bool is_unlocked(const std::filesystem::path& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const bool free = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
    close(fd);
    return free;
}

/// Returns whether EAL or its telemetry makes a file of this name in a process's directory.
bool is_eals(std::string_view name) {
    return name == "config" || name == "hugepage_info" || name == "hugepage_data" ||
           name.starts_with("fbarray_") || name.starts_with("mp_socket") ||
           name.starts_with(kTelemetrySocket);
}

bool is_dead(const std::filesystem::directory_entry& file) {
    std::error_code error;
    const std::string name = file.path().filename().string();
    if (file.symlink_status(error).type() == std::filesystem::file_type::socket)
        return is_eals(name) && is_dead_socket(file.path());
    return is_eals(name) && (name != "config" || is_unlocked(file.path()));
}

/// Returns the files in the directory, if EAL made all of them for a process that has ended.
std::optional<std::vector<std::filesystem::path>> dead_files(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> all;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        if (!is_dead(*at))
            return std::nullopt;
        all.push_back(at->path());
    }
    return error ? std::nullopt : std::optional(all);
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
    std::error_code error;
    if (prefix.empty())
        return;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (!name.starts_with(prefix) || !is_dead(std::string_view(name).substr(prefix.size())))
            continue;
        struct stat facts {};
        if (lstat(at->path().c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != geteuid())
            continue;
        const auto files = dead_files(at->path());
        if (!files)
            continue;
        for (const auto& file : *files)
            unlink(file.c_str());
        rmdir(at->path().c_str());
    }
}

void remove_directory_of_eal(const std::string& directory) noexcept {
    std::error_code error;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error))
        if (is_eals(at->path().filename().string()))
            files.push_back(at->path());
    for (const auto& file : files)
        unlink(file.c_str());
    rmdir(directory.c_str());
}

bool telemetry_socket_fits(std::string_view file_prefix) {
    // ":99" of a namesake, and the byte that ends the path.
    constexpr std::size_t kMore = 4;
    return eal_directory().size() + 1 + file_prefix.size() + 1 + kTelemetrySocket.size() + kMore <=
           sizeof(sockaddr_un::sun_path);
}

}  // namespace spead::runtime
