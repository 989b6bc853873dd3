// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <thread>

namespace spead::app {

/// SIGINT and SIGTERM as a readable descriptor instead of a handler. Make it before any thread is started,
/// since threads inherit that the signals are blocked. SIGPIPE and SIGXFSZ are ignored: such a write fails.
class StopSignals {
  public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    int fd() const noexcept { return fd_; }
    /// From now on such a signal ends the process at once, for a user who does not want to wait for the
    /// orderly end. What would outlive the process is put back first: MTUs, and EAL's directory.
    void give_back() noexcept;

  private:
    void end_at_once() const noexcept;

    int fd_;
    int over_;  ///< readable: nobody waits for signals any more
    std::thread waiting_;
};

}  // namespace spead::app
