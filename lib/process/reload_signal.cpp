// SPDX-License-Identifier: BSD-3-Clause
#include "process/reload_signal.hpp"

#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::process {

ReloadSignal::ReloadSignal(bool wanted) {
    if (!wanted)
        return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ < 0)
        throw Error("cannot wait for SIGHUP");
}

ReloadSignal::~ReloadSignal() {
    if (fd_ >= 0)
        close(fd_);
}

bool ReloadSignal::take() noexcept {
    bool came = false;
    signalfd_siginfo info;
    while (fd_ >= 0 && read(fd_, &info, sizeof info) == sizeof info)
        came = true;
    return came;
}

}  // namespace spead::process
