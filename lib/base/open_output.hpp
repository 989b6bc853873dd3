// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/file_descriptor.hpp"

/// Opens what the program writes, in directories where other users may have planted something.
///
/// A name is followed part by part, through descriptors, so nobody can exchange a part of it meanwhile.
/// Trusted are root, the process's own user, and the user that ran it through sudo; all other users are
/// "others". Where others can write a directory (it is theirs, or its mode lets a group or everybody), these
/// are refused:
///  - a symbolic link, unless a trusted user made it and others cannot put it there (the directory is a
///  trusted
///    user's, and sticky or for a group only);
///  - a file of a user who is neither trusted nor the directory's owner;
///  - a file with a second name (hard link), unless the directory is a trusted user's and for a group only.
/// Links that the kernel makes (/proc, and by it /dev/stdout) are followed.
///
/// Control world; any thread.
namespace spead {

/// A descriptor, or the reason why there is none.
struct OpenedOutput {
    FileDescriptor file;
    int error = 0;       ///< errno; EPERM when it was refused
    std::string reason;  ///< for the user, behind "cannot write PATH: "; empty when it is open
};

/// Opens for writing and makes the file if there is none. `flags` may add O_RDWR, O_APPEND, O_EXCL,
/// O_NONBLOCK and O_DIRECT to O_WRONLY | O_CREAT | O_CLOEXEC. Never empties a file: find out first that
/// nobody else has it in use (base/file_use.hpp).
OpenedOutput open_output(const std::string& path, int flags = 0, mode_t mode = 0666);

/// Opens a directory as a place for openat(2); `make`: makes it if it is not there. Files that are opened
/// there with O_EXCL or O_NOFOLLOW follow no link.
OpenedOutput open_output_directory(const std::string& path, bool make = false);

/// Says why open_output() would refuse what is there now; empty: it would not, or nothing is there. Opens
/// nothing.
std::string why_not_output(const std::string& path);

/// A directory and a name in it, for files that are put in place by their name (rename).
struct OutputPlace {
    OpenedOutput directory;
    std::string name;  ///< may be a link itself, which rename replaces
};
OutputPlace find_output(const std::string& path);

/// For tests: trusts these users instead, for as long as this lives.
class TrustedUsersInstead {
  public:
    explicit TrustedUsersInstead(std::vector<uid_t> users);
    ~TrustedUsersInstead();
    TrustedUsersInstead(const TrustedUsersInstead&) = delete;
    TrustedUsersInstead& operator=(const TrustedUsersInstead&) = delete;
};

}  // namespace spead
