// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <cstdint>
#include <thread>

namespace spead::process {

/// Signals that would end the process without order, as a readable descriptor: SIGINT, SIGTERM, SIGHUP,
/// SIGQUIT, and those that nobody sends to this program on purpose (SIGUSR1, SIGUSR2, SIGALRM, SIGPWR,
/// SIGXCPU). Make it before any thread is started, since threads inherit that the signals are blocked.
/// SIGPIPE and SIGXFSZ are ignored: such a write fails. One that whoever started the program had it ignore
/// (nohup) stays ignored, but for SIGINT, which a shell has background work ignore.
class StopSignals {
  public:
    /// What SIGHUP means: a closed terminal, or a wish to read the configuration again (ReloadSignal).
    enum class Hangup : std::uint8_t { ends, reloads };

    explicit StopSignals(Hangup hangup = Hangup::ends);
    /// From now on such a signal ends the process, as it does without this.
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    int fd() const noexcept { return fd_; }
    /// Whether one has come.
    bool came() const noexcept;
    /// From now on such a signal ends the process at once, for a user who does not want to wait for the
    /// orderly end. What would outlive the process is put back first: MTUs, and EAL's directory.
    void give_back() noexcept;

  private:
    void take_pending() const noexcept;
    void end_at_once() const noexcept;
    void let_them_end_the_process() const noexcept;

    sigset_t set_;
    int fd_;
    int over_;  ///< readable: nobody waits for signals any more
    std::thread waiting_;
};

}  // namespace spead::process
