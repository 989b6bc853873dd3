// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace spead::app {

/// Ctrl-C, or the end of what a wait was for.
struct Interrupted {};

/// The other process closed the connection.
class ChannelClosed : public Error {
  public:
    using Error::Error;
};

/// Two processes of a benchmark talk: one JSON document per line, over a stream socket. For one thread at a
/// time. What comes is not trusted: a line is at most 1 MiB and comes within a minute, and what is not an
/// object, or is too deep (observe/foreign_json.hpp), is an error.
class JsonChannel {
  public:
    /// Takes the connected socket.
    explicit JsonChannel(int fd);
    ~JsonChannel();
    JsonChannel(const JsonChannel&) = delete;
    JsonChannel& operator=(const JsonChannel&) = delete;

    /// "PORT" or "ADDRESS:PORT": waits for one connection there. Throws Interrupted when `stop_fd` becomes
    /// readable, Error when the address cannot be had.
    static int accept_one(const std::string& address, int stop_fd);
    /// "ADDRESS:PORT". Tries for up to ten seconds, since the other end may be started later.
    static int connect_to(const std::string& address, int stop_fd);
    /// Starts `arguments` (without the program's name) in another process of this program, with one end of a
    /// socket pair as descriptor kChildDescriptor; returns the other. It may run on `cpus` only, and dies
    /// with us.
    static int start_process(const std::vector<std::string>& arguments, const std::vector<unsigned>& cpus,
                             pid_t& pid);
    static constexpr int kChildDescriptor = 3;

    /// Throws ChannelClosed when the other end has gone, or takes nothing for a minute.
    void send(const nlohmann::json& message);
    /// The next line. Throws Interrupted when `stop_fd` becomes readable first (-1: none); ChannelClosed at
    /// the end of the connection; Error when the line has not come after `patience_ms` (-1: no limit until it
    /// begins).
    nlohmann::json receive(int stop_fd, int patience_ms = -1);
    /// send and receive; an answer with "error" becomes an Error, and so does a minute without one.
    nlohmann::json ask(const nlohmann::json& message, int stop_fd);

  private:
    int fd_;
    std::string buffer_;
};

}  // namespace spead::app
