// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace spead::runtime {

/// Runs a user's program for each event, one at a time, without a shell. Control code, one thread. Never
/// constructed on an lcore's CPU: the program inherits the calling thread's CPUs.
///
/// The program gets this process's environment with the event's variables, an empty standard input, and this
/// process's standard error for all its output. It gets no other descriptor. It has no capabilities, not even
/// as root, and gains none (no_new_privs). When this object is destroyed, the program and its children are
/// killed.
class EventCommand {
  public:
    using Variables = std::vector<std::pair<std::string, std::string>>;
    /// Limits the events that wait while the program runs. More are dropped, and that is logged.
    static constexpr std::size_t kWaiting = 16;

    /// Takes a program (a path, or a name to be found in PATH) and its arguments. Throws Error when there is
    /// no such program.
    explicit EventCommand(std::vector<std::string> argv);
    ~EventCommand();
    EventCommand(const EventCommand&) = delete;
    EventCommand& operator=(const EventCommand&) = delete;

    /// Runs the program now, or after those that wait before it.
    void run(Variables variables);
    /// Reaps a finished program and starts the next. Call it regularly.
    void poll();
    /// Waits until the program has run for every event, `longest` at most. Returns the events that it has not
    /// run for, or still runs for.
    std::size_t finish(std::chrono::milliseconds longest);
    bool running() const noexcept { return pid_ > 0; }
    std::size_t waiting() const noexcept { return waiting_.size(); }

  private:
    void start(const Variables& variables);

    std::vector<std::string> argv_;
    std::deque<Variables> waiting_;
    pid_t pid_ = 0;
    bool reported_dropping_ = false;
};

}  // namespace spead::runtime
