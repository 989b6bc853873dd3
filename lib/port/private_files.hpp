// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace spead::port {

/// Restricts files and sockets that this process makes during its life to its user, from their creation on.
/// Affects the whole process: use it while no other thread makes files.
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
