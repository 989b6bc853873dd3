// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace spead::runtime {

/// Runs a user's program for each event, one at a time, without a shell. Control world, one thread; never an
/// lcore's, which the program does not share a CPU with either: it inherits where the calling thread may run.
///
/// The program gets this process's environment and the event's variables, nothing on its standard input, this
/// process's standard error for all that it prints, and no other descriptor. It has no capabilities, root's
/// neither, and gains none (no_new_privs). It is killed, with what it started, when this object goes.
class EventCommand {
  public:
    using Variables = std::vector<std::pair<std::string, std::string>>;
    /// Events that wait while the program runs; more are dropped, and that is logged.
    static constexpr std::size_t kWaiting = 16;

    /// `argv`: the program (a path, or a name to be found in PATH) and its arguments. Throws Error when
    /// there is no such program.
    explicit EventCommand(std::vector<std::string> argv);
    ~EventCommand();
    EventCommand(const EventCommand&) = delete;
    EventCommand& operator=(const EventCommand&) = delete;

    /// Runs the program now, or when those before it have ended.
    void run(Variables variables);
    /// Looks whether it has ended, and starts the next. Call it now and then.
    void poll();
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
