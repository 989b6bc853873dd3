// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/control_socket.hpp"
#include "app/prompt/line.hpp"

namespace spead::app {

/// Sends a frame with the error and the exit status 1, as far as the other side takes them at once.
void turn_away(const FileDescriptor& connection, std::string_view why) noexcept;

/// Holds connections to a control socket that have not greeted yet. None of them costs a thread or delays
/// another one. A connection that sends nothing, too much, or no greeting is closed. One thread.
class Handshakes {
  public:
    using Clock = std::chrono::steady_clock;
    /// Limits the connections; one more replaces the oldest.
    static constexpr std::size_t kMost = 32;
    static constexpr std::chrono::seconds kPatience{10};
    /// Limits a greeting; a directory has at most 4096 characters (PATH_MAX).
    static constexpr std::size_t kLongest = 8192;

    /// Holds a connection that has greeted, and its input since then.
    struct Greeted {
        FileDescriptor connection;
        Greeting greeting;
        std::string begun;
    };

    /// Adds the connection and makes it non-blocking.
    void add(FileDescriptor connection, Clock::time_point now = Clock::now());
    /// Adds the descriptors to wait for.
    void add_to(std::vector<pollfd>& descriptors) const;
    /// Returns the milliseconds until a connection's time is over, for poll(2); -1: there is none.
    int milliseconds_left(Clock::time_point now = Clock::now()) const;
    /// Reads input. Closes connections whose time is over or whose greeting is invalid.
    std::vector<Greeted> take(Clock::time_point now = Clock::now());
    std::size_t size() const { return pending_.size(); }

  private:
    struct Pending {
        FileDescriptor connection;
        Clock::time_point end;
        std::string text;
    };
    /// Reads from it. Returns false when it has gone.
    static bool read(Pending& one);

    std::deque<Pending> pending_;  ///< oldest first
};

}  // namespace spead::app
