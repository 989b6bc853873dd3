// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "base/file_descriptor.hpp"

/// Opens the program's output files, in directories where other users may have planted files or links.
///
/// A name is followed part by part, through descriptors, so no part of it can be exchanged meanwhile. Root,
/// the process's own user, and the user that ran it through sudo are trusted; all other users are "others".
/// In a directory that others can write (it is theirs, or its mode lets a group or everybody), these are
/// refused:
///  - a symbolic link, unless a trusted user made it and others cannot put it there (the directory is a
///    trusted user's, and sticky or for a group only);
///  - a file of a user who is neither trusted nor the directory's owner;
///  - a file with a second name (hard link), unless the directory is a trusted user's and for a group only.
/// Links that the kernel makes (/proc, and by it /dev/stdout) are followed.
///
/// Control code; any thread.
namespace spead {

/// Holds a descriptor, or the reason why there is none.
struct OpenedOutput {
    FileDescriptor file;
    int error = 0;       ///< errno; EPERM when it was refused
    std::string reason;  ///< for the user, after "cannot write PATH: "; empty when it is open
};

/// Opens for writing and makes the file if there is none. `flags` may add O_RDWR, O_APPEND, O_EXCL,
/// O_NONBLOCK and O_DIRECT to O_WRONLY | O_CREAT | O_CLOEXEC. Never truncates a file: first find out that it
/// has no other use (base/file_use.hpp).
OpenedOutput open_output(const std::string& path, int flags = 0, mode_t mode = 0666);

/// Removes the file `fd` that open_output() made at this path. Leaves whatever other file the path leads to.
void remove_output(const std::string& path, int fd) noexcept;

/// Opens a directory for openat(2); `make`: makes it if it is missing. Files that are opened there with
/// O_EXCL or O_NOFOLLOW follow no link.
OpenedOutput open_output_directory(const std::string& path, bool make = false);

/// Returns why open_output() would refuse the present file; empty: it would not, or there is none. Opens
/// nothing.
std::string why_not_output(const std::string& path);

/// Names a directory and a name in it, for files that are put in place by rename.
struct OutputPlace {
    OpenedOutput directory;
    std::string name;  ///< may be a link itself, which rename replaces
};
OutputPlace find_output(const std::string& path);

/// Returns whether the user is trusted.
bool is_trusted_user(uid_t user);

/// Trusts these users instead during its life, for tests.
class TrustedUsersInstead {
  public:
    explicit TrustedUsersInstead(std::vector<uid_t> users);
    ~TrustedUsersInstead();
    TrustedUsersInstead(const TrustedUsersInstead&) = delete;
    TrustedUsersInstead& operator=(const TrustedUsersInstead&) = delete;
};

}  // namespace spead
