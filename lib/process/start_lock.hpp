// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/file_descriptor.hpp"

namespace spead::process {

/// Locks a name among several processes that want it at once. The lock is a file beside the name that only
/// its user can open, so that no other user can hold it. The file is removed with the lock.
class StartLock {
  public:
    /// Locks PATH.lock. Throws Error when that fails for some seconds, or when the file belongs to another
    /// user.
    explicit StartLock(const std::string& path);
    ~StartLock();
    StartLock(const StartLock&) = delete;
    StartLock& operator=(const StartLock&) = delete;

  private:
    bool take();

    std::string path_;
    std::string file_;
    FileDescriptor lock_;
};

}  // namespace spead::process
