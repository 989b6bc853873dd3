// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace spead::port {

/// While it lives, files and sockets that this process makes can be opened by its user alone, from the moment
/// on at which they are there. It is the whole process's: for a moment at which no other thread makes files.
class PrivateFiles {
  public:
    PrivateFiles() : before_(umask(S_IXUSR | S_IRWXG | S_IRWXO)) {}
    ~PrivateFiles() { umask(before_); }
    PrivateFiles(const PrivateFiles&) = delete;
    PrivateFiles& operator=(const PrivateFiles&) = delete;

  private:
    mode_t before_;
};

}  // namespace spead::port
