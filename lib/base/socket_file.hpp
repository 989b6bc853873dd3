// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/file_descriptor.hpp"
#include "base/open_output.hpp"

/// Listens at Unix sockets, in directories where other users may exchange files. Control code; any thread.
namespace spead {

/// Returns the address of a socket. Throws UsageError when the path is too long for one.
sockaddr_un unix_address(const std::string& path);
const sockaddr* as_address(const sockaddr_un& address);

/// Returns the other side of a connection, or nothing if the kernel does not know it.
std::optional<ucred> peer_of(int fd);

/// Returns the process that listens there, if one does; 0: it is unknown which. Throws Error when that cannot
/// be found out.
std::optional<pid_t> who_listens(const std::string& path);

/// Owns the file of a listening socket. The path is followed once, as that of an output
/// (base/open_output.hpp). Everything after that happens in the directory that was found.
class SocketFile {
  public:
    /// Finds the directory. `where` begins errors. Throws Error when it cannot be used.
    SocketFile(const std::string& path, std::string where);
    /// Removes the file.
    ~SocketFile();
    SocketFile(SocketFile&&) noexcept = default;
    SocketFile& operator=(SocketFile&&) = delete;

    /// Listens there, for this user and root only, and replaces the socket of an ended process. `flags`: of
    /// socket(2). `cure`: follows an error about a process that listens there. Throws Error when one does,
    /// and when the file is no socket. Takes some seconds at most.
    FileDescriptor listen(int flags, const std::string& cure);

    /// Removes the file, unless it is another one by now.
    void remove() noexcept;

  private:
    void remove_dead(const std::string& through, const std::string& cure) const;
    std::uint64_t inode() const noexcept;

    std::string where_;
    OutputPlace place_;
    std::uint64_t inode_ = 0;  ///< of the socket that listens; 0: there is none
};

}  // namespace spead
