// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/file_descriptor.hpp"

namespace spead::process {

/// Of several processes that want the same name at once, only one has this lock on it. The lock is a file
/// beside the name that nobody but its user can open, so that no other user can hold it; it is gone with the
/// lock.
class StartLock {
  public:
    /// PATH.lock. Throws Error when it cannot be had within some seconds, or belongs to somebody else.
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
