// SPDX-License-Identifier: BSD-3-Clause
#include "base/start_lock.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace spead {

namespace {

/// Limits the wait for the lock, whose holder only looks and binds.
constexpr std::chrono::seconds kLockPatience{5};
constexpr std::chrono::milliseconds kAgain{10};

}  // namespace

StartLock::StartLock(const OutputPlace& place, std::string where)
    : directory_(place.directory.file.get()), where_(std::move(where)), file_(place.name + ".lock") {
    const auto end = std::chrono::steady_clock::now() + kLockPatience;
    while (!take()) {
        if (std::chrono::steady_clock::now() > end)
            throw_error(where_, "another process of this user has had {} locked for {} s: end that process",
                        file_, kLockPatience.count());
        std::this_thread::sleep_for(kAgain);
    }
}

/// Returns false when another process has the lock.
bool StartLock::take() {
    lock_ = FileDescriptor(
        openat(directory_, file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!lock_)
        throw_error(where_, "cannot make {} beside it: {}", file_, std::strerror(errno));
    struct stat mine {};
    if (fstat(lock_.get(), &mine) != 0 || !S_ISREG(mine.st_mode) || mine.st_uid != geteuid())
        throw_error(where_, "{} beside it belongs to another user; remove that, or give another path", file_);
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            throw_error(where_, "cannot lock {} beside it: {}; give a path on another file system", file_,
                        std::strerror(errno));
        return false;
    }
    // The former holder has removed it: there may be a new file since.
    struct stat there {};
    return fstatat(directory_, file_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           there.st_dev == mine.st_dev && there.st_ino == mine.st_ino;
}

StartLock::~StartLock() {
    unlinkat(directory_, file_.c_str(), 0);
}

}  // namespace spead
