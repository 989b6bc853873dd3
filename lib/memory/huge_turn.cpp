// SPDX-License-Identifier: BSD-3-Clause
#include "memory/huge_turn.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace spead::memory {

namespace {
constexpr std::chrono::milliseconds kBetweenTries{5};
}

std::string HugePageTurn::own_directory() {
    if (geteuid() == 0)
        return "/run";
    const char* const own = std::getenv("XDG_RUNTIME_DIR");
    return own == nullptr ? "" : own;
}

HugePageTurn::HugePageTurn(const std::string& directory, std::chrono::milliseconds patience) {
    if (directory.empty())
        return;
    path_ = directory + "/dpdk-spead.huge-pages";
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!take()) {
        if (std::chrono::steady_clock::now() >= end)
            return;
        std::this_thread::sleep_for(kBetweenTries);
    }
}

/// Takes the turn. Returns true when another try is useless.
bool HugePageTurn::take() {
    const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return true;
    struct stat held {};
    struct stat there {};
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 && lstat(path_.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino) {
        fd_ = fd;
        return true;
    }
    // Another process has it, or had it and took the file away.
    close(fd);
    return false;
}

HugePageTurn::~HugePageTurn() {
    if (fd_ < 0)
        return;
    unlink(path_.c_str());
    close(fd_);
}

}  // namespace spead::memory
