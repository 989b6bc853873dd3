// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/runtime_dir.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
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

/// ".PID" of no process that runs.
bool is_dead(std::string_view suffix) {
    pid_t pid = 0;
    if (suffix.size() < 2 || suffix.front() != '.')
        return false;
    const auto [stop, error] = std::from_chars(suffix.data() + 1, suffix.data() + suffix.size(), pid);
    return error == std::errc{} && stop == suffix.data() + suffix.size() && pid > 0 && kill(pid, 0) != 0 &&
           errno == ESRCH;
}

/// Nobody listens there, in this container or in another one.
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

/// What is in the directory, if that is nothing but dead telemetry sockets.
std::optional<std::vector<std::filesystem::path>> dead_sockets(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> all;
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
        if (!at->path().filename().string().starts_with(kTelemetrySocket) || !is_dead_socket(at->path()))
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
        const auto sockets = dead_sockets(at->path());
        if (!sockets)
            continue;
        for (const auto& socket : *sockets)
            unlink(socket.c_str());
        rmdir(at->path().c_str());
    }
}

bool telemetry_socket_fits(std::string_view file_prefix) {
    // ":99" of a namesake, and the byte that ends the path.
    constexpr std::size_t kMore = 4;
    return eal_directory().size() + 1 + file_prefix.size() + 1 + kTelemetrySocket.size() + kMore <=
           sizeof(sockaddr_un::sun_path);
}

}  // namespace spead::runtime
