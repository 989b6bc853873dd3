// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace spead::app {

/// Reports Ctrl-C, or the end of the awaited work.
struct Interrupted {};

/// Reports that the other process closed the connection.
class ChannelClosed : public Error {
  public:
    using Error::Error;
};

/// Connects two processes of a benchmark: one JSON document per line, over a stream socket. For one thread at
/// a time. Input is not trusted: a line is at most 1 MiB and arrives within a minute. A line that is no
/// object or too deep (base/foreign_json.hpp) is an error.
class JsonChannel {
  public:
    /// Takes the connected socket.
    explicit JsonChannel(int fd);
    ~JsonChannel();
    JsonChannel(const JsonChannel&) = delete;
    JsonChannel& operator=(const JsonChannel&) = delete;

    /// Waits for one connection at "PORT" or "ADDRESS:PORT". Throws Interrupted when `stop_fd` becomes
    /// readable, Error when the address cannot be used.
    static int accept_one(const std::string& address, int stop_fd);
    /// Connects to "ADDRESS:PORT". Tries for up to ten seconds, since the other end may be started later.
    static int connect_to(const std::string& address, int stop_fd);
    /// Starts `arguments` (without the program's name) in another process of this program, with one end of a
    /// socket pair as descriptor kChildDescriptor; returns the other. It may run on `cpus` only, and ends
    /// when this process does.
    static int start_process(const std::vector<std::string>& arguments, const std::vector<unsigned>& cpus,
                             pid_t& pid);
    static constexpr int kChildDescriptor = 3;

    /// Sends a message. Throws ChannelClosed when the other end has gone, or takes nothing for a minute.
    void send(const nlohmann::json& message);
    /// Receives the next line. Throws Interrupted when `stop_fd` becomes readable first (-1: none);
    /// ChannelClosed at the end of the connection; Error when the line has not come after `patience_ms` (-1:
    /// no limit until it begins).
    nlohmann::json receive(int stop_fd, int patience_ms = -1);
    /// Sends a message and receives the answer. Throws Error for an answer with "error", and when none comes
    /// within a minute.
    nlohmann::json ask(const nlohmann::json& message, int stop_fd);

  private:
    int fd_;
    std::string buffer_;
};

}  // namespace spead::app
