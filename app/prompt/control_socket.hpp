// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "app/environment.hpp"
#include "app/prompt/line.hpp"

/// Where a running process is found: a Unix socket by its name, for its own user (and root) only.
namespace spead::app {

/// What a session sends first, as one line; the rest are keys or commands, and frames come back.
struct Greeting {
    bool interactive = false;
    std::string directory;  ///< which relative names of files are from
    bool lone = false;      ///< one command comes, and no input besides

    std::string text() const;
    /// Nothing when it is no greeting of this version.
    static std::optional<Greeting> parse(std::string_view line);
};

/// What comes back: text for standard output or standard error, and at the end the exit status.
struct Frame {
    char kind = 'o';  ///< 'o', 'e' or 's'
    std::string text;

    std::string bytes() const;
    /// Takes the first whole frame off `buffer`; nothing when there is none yet. Throws Error when those are
    /// no frames.
    static std::optional<Frame> take(std::string& buffer);
};

/// "auto" or a path, as `--control` and [runtime] control take it -> a path. Throws Error when there is
/// no directory for "auto".
std::string socket_path(const std::string& control, const std::string& name, const Environment& environment,
                        uid_t user);

/// The process that listens there, if one does; 0: it is not known which. Throws Error when that cannot be
/// found out.
std::optional<pid_t> who_listens(const std::string& path);

/// A listening socket, and its file until destruction.
class ControlSocket {
  public:
    /// Makes the directory if need be and takes the place of one whose process has gone. Throws Error naming
    /// the process when one lives.
    explicit ControlSocket(std::string path);
    ~ControlSocket();
    ControlSocket(ControlSocket&&) noexcept = default;
    ControlSocket& operator=(ControlSocket&&) = delete;

    int fd() const { return socket_.get(); }
    const std::string& path() const { return path_; }

    /// Whoever has connected; `refusal` is set when that is another user. Returns 0, or the error of
    /// accept(2); also EMFILE when the process is so short of descriptors that it needs this one itself.
    int accept(FileDescriptor& connection, std::string& refusal) const;

  private:
    std::string path_;
    FileDescriptor socket_;
};

/// Returns a connection to the process of that name or path; empty: the only one there is. By name, this
/// user's own comes before root's and services' (app/prompt/named_sockets.hpp). Throws Error when nobody
/// listens there, saying who does elsewhere, when it may not be reached, and when two have the name.
FileDescriptor connect_to(const std::string& target, const Environment& environment, uid_t user);

}  // namespace spead::app
