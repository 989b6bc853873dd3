// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/file_descriptor.hpp"
#include "base/open_output.hpp"

namespace spead {

/// Locks a name among several processes that want it at once. The lock is a file beside the name that only
/// its user can open, so that no other user can hold it. The file is removed with the lock.
class StartLock {
  public:
    /// Locks NAME.lock in the directory of `place`, which outlives this. `where` begins errors. Throws Error
    /// when that fails for some seconds, or when the file belongs to another user.
    StartLock(const OutputPlace& place, std::string where);
    ~StartLock();
    StartLock(const StartLock&) = delete;
    StartLock& operator=(const StartLock&) = delete;

  private:
    bool take();

    int directory_;
    std::string where_;
    std::string file_;
    FileDescriptor lock_;
};

}  // namespace spead
