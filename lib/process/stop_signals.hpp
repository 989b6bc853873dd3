// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <cstdint>
#include <thread>

namespace spead::process {

/// Makes signals that would end the process at once readable through a descriptor: SIGINT, SIGTERM, SIGHUP,
/// SIGQUIT, and those without a use in this program (SIGUSR1, SIGUSR2, SIGALRM, SIGPWR, SIGXCPU). Make it
/// before any thread is started, since threads inherit that the signals are blocked. SIGPIPE and SIGXFSZ are
/// ignored: such a write fails. A signal that was ignored at start (nohup) stays ignored, except SIGINT,
/// which shells ignore in background jobs.
class StopSignals {
  public:
    /// Says what SIGHUP means: a closed terminal, or a request to read the configuration again
    /// (ReloadSignal).
    enum class Hangup : std::uint8_t { ends, reloads };

    explicit StopSignals(Hangup hangup = Hangup::ends);
    /// Restores the default: from now on such a signal ends the process.
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    int fd() const noexcept { return fd_; }
    /// Returns whether one has come.
    bool came() const noexcept;
    /// Lets such a signal end the process at once from now on, for a user who does not want to wait for the
    /// orderly end. First the MTUs and EAL's directory, which would outlive the process, are restored.
    void give_back() noexcept;

  private:
    void take_pending() const noexcept;
    void end_at_once() const noexcept;
    void let_them_end_the_process() const noexcept;

    sigset_t set_;
    int fd_;
    int over_;  ///< readable: signals are no longer waited for
    std::thread waiting_;
};

}  // namespace spead::process
