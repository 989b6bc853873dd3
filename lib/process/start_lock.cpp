// SPDX-License-Identifier: BSD-3-Clause
#include "process/start_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::process {

namespace {

/// Limits the wait for the lock, whose holder only looks and binds.
constexpr std::chrono::seconds kLockPatience{5};
constexpr std::chrono::milliseconds kAgain{10};

}  // namespace

StartLock::StartLock(const std::string& path) : path_(path), file_(path + ".lock") {
    const auto end = std::chrono::steady_clock::now() + kLockPatience;
    while (!take()) {
        if (std::chrono::steady_clock::now() > end)
            throw_error(file_, "another process of this user has had it locked for {} s: end that process",
                        kLockPatience.count());
        std::this_thread::sleep_for(kAgain);
    }
}

/// Returns false when another process has the lock.
bool StartLock::take() {
    lock_ = FileDescriptor(open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!lock_)
        throw_error(path_, "cannot make a control socket at this path: {}", std::strerror(errno));
    struct stat mine {};
    if (fstat(lock_.get(), &mine) != 0 || !S_ISREG(mine.st_mode) || mine.st_uid != geteuid())
        throw_error(file_, "it belongs to another user; remove it, or give the control socket another path");
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
        return false;
    // The former holder has removed it: there may be a new file since.
    struct stat there {};
    return lstat(file_.c_str(), &there) == 0 && there.st_dev == mine.st_dev && there.st_ino == mine.st_ino;
}

StartLock::~StartLock() {
    unlink(file_.c_str());
}

}  // namespace spead::process
