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

/// Sends a frame of what went wrong and the exit status 1, as far as the other side takes them at once.
void turn_away(const FileDescriptor& connection, std::string_view why) noexcept;

/// Connections to a control socket that have not greeted yet. None of them costs a thread or keeps another
/// one waiting: whoever says nothing, too much, or something else than a greeting loses its connection. One
/// thread.
class Handshakes {
  public:
    using Clock = std::chrono::steady_clock;
    /// One more takes the place of the oldest.
    static constexpr std::size_t kMost = 32;
    static constexpr std::chrono::seconds kPatience{10};
    /// A directory has at most 4096 characters (PATH_MAX).
    static constexpr std::size_t kLongest = 8192;

    /// Whoever has greeted, and what it has said since then.
    struct Greeted {
        FileDescriptor connection;
        Greeting greeting;
        std::string begun;
    };

    /// Makes the connection one that never blocks.
    void add(FileDescriptor connection, Clock::time_point now = Clock::now());
    /// What to wait for.
    void add_to(std::vector<pollfd>& descriptors) const;
    /// Milliseconds until somebody's time is over, for poll(2); -1: there is nobody.
    int milliseconds_left(Clock::time_point now = Clock::now()) const;
    /// Reads what has come. Turns away those whose time is over and those that speak differently.
    std::vector<Greeted> take(Clock::time_point now = Clock::now());
    std::size_t size() const { return pending_.size(); }

  private:
    struct Pending {
        FileDescriptor connection;
        Clock::time_point end;
        std::string text;
    };
    /// Reads from it; false: it is gone.
    static bool read(Pending& one);

    std::deque<Pending> pending_;  ///< oldest first
};

}  // namespace spead::app
