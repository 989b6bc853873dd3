// SPDX-License-Identifier: BSD-3-Clause
#include "app/stop_signals.hpp"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::app {

namespace {

sigset_t stop_set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

StopSignals::StopSignals() {
    const sigset_t set = stop_set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0)
        throw Error("cannot wait for signals");
}

StopSignals::~StopSignals() {
    close(fd_);
}

void StopSignals::give_back() noexcept {
    // The one that was seen is still pending; taking it off first keeps it from ending the process now.
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) == sizeof info) {
    }
    // A shell starts background work with SIGINT ignored.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    const sigset_t set = stop_set();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace spead::app
