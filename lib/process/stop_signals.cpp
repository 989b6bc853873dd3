// SPDX-License-Identifier: BSD-3-Clause
#include "process/stop_signals.hpp"

#include <array>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

#include "base/error.hpp"
#include "drivers/outliving.hpp"
#include "runtime/eal.hpp"

namespace spead::process {

namespace {

constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPWR, SIGXCPU};

bool is_ignored(int signal) noexcept {
    struct sigaction now {};
    return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

StopSignals::StopSignals(Hangup hangup) : over_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    sigemptyset(&set_);
    for (const int signal : kEnding)
        if (signal == SIGINT || (!is_ignored(signal) && (signal != SIGHUP || hangup == Hangup::ends)))
            sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    fd_ = signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0 || over_ < 0)
        throw Error("cannot wait for signals");
}

StopSignals::~StopSignals() {
    eventfd_write(over_, 1);
    if (waiting_.joinable())
        waiting_.join();
    // Remaining output may wait for its reader.
    take_pending();
    let_them_end_the_process();
    close(fd_);
    close(over_);
}

bool StopSignals::came() const noexcept {
    pollfd p{fd_, POLLIN, 0};
    return poll(&p, 1, 0) > 0;
}

/// Restores the signals' default effect for the calling thread. A shell starts background jobs with SIGINT
/// ignored.
void StopSignals::let_them_end_the_process() const noexcept {
    for (const int signal : kEnding)
        if (sigismember(&set_, signal) == 1)
            std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set_, nullptr);
}

/// Removes the seen signal, which is still pending, so that it does not end the process now.
void StopSignals::take_pending() const noexcept {
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) == sizeof info) {
    }
}

void StopSignals::give_back() noexcept {
    take_pending();
    try {
        waiting_ = std::thread([this] { end_at_once(); });
    } catch (const std::system_error&) {
        let_them_end_the_process();
    }
}

void StopSignals::end_at_once() const noexcept {
    std::array<pollfd, 2> events{pollfd{fd_, POLLIN, 0}, pollfd{over_, POLLIN, 0}};
    while (poll(events.data(), events.size(), -1) < 0) {
    }
    if (events[1].revents != 0)
        return;
    drivers::put_back_netdev_mtus();
    runtime::Eal::remove_directory();
    // The signal is still pending, and ends the process when this thread lets it.
    let_them_end_the_process();
}

}  // namespace spead::process
