// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "app/environment.hpp"
#include "app/prompt/line.hpp"
#include "base/socket_file.hpp"

/// Finds a running process by a Unix socket with its name, for its own user (and root) only.
namespace spead::app {

/// Holds the first line that a session sends; keys or commands follow, and frames come back.
struct Greeting {
    bool interactive = false;
    std::string directory;  ///< base of relative file names
    bool lone = false;      ///< one command comes, and no further input

    std::string text() const;
    /// Parses a greeting. Returns nothing when it is no greeting of this version.
    static std::optional<Greeting> parse(std::string_view line);
};

/// Holds one answer: text for standard output or standard error, and at the end the exit status.
struct Frame {
    char kind = 'o';  ///< 'o', 'e' or 's'
    std::string text;

    std::string bytes() const;
    /// Takes the first whole frame off `buffer`; nothing when it is incomplete. Throws Error for invalid
    /// bytes.
    static std::optional<Frame> take(std::string& buffer);
};

/// Returns the path for "auto" or a path, as `--control` and [runtime] control take it. Throws Error when
/// there is no directory for "auto".
std::string socket_path(const std::string& control, const std::string& name, const Environment& environment,
                        uid_t user);

/// Owns a listening socket, and its file until destruction.
class ControlSocket {
  public:
    /// Makes the directory if necessary and replaces the socket of an ended process. Throws Error naming the
    /// process when one lives.
    explicit ControlSocket(std::string path);
    ~ControlSocket();
    ControlSocket(ControlSocket&&) noexcept = default;
    ControlSocket& operator=(ControlSocket&&) = delete;

    int fd() const { return socket_.get(); }
    const std::string& path() const { return path_; }

    /// Accepts a connection; sets `refusal` for one of another user. Returns 0, or the error of accept(2).
    /// Returns EMFILE, too, when the process itself needs the last descriptors.
    int accept(FileDescriptor& connection, std::string& refusal) const;

  private:
    std::string path_;
    OutputPlace directory_;  ///< of the directory, if it is one for sockets by name
    SocketFile file_;
    FileDescriptor socket_;
};

/// Connects to the process of that name or path; empty: the only one. By name, this user's process comes
/// before root's and services' (app/prompt/named_sockets.hpp). Throws Error when no process listens there,
/// naming those elsewhere; when access is denied; and when two have the name.
FileDescriptor connect_to(const std::string& target, const Environment& environment, uid_t user);

}  // namespace spead::app
