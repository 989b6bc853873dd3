// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>

#include "app/bench/bench_pair.hpp"
#include "runtime/eal.hpp"

/// The far end as a process of its own, on the other side of a memif.
namespace spead::app {

/// A directory for the socket of two processes, which nobody else may enter; removed on destruction.
class MeetingPlace {
  public:
    /// Throws Error when it cannot be made.
    MeetingPlace();
    ~MeetingPlace();
    MeetingPlace(const MeetingPlace&) = delete;
    MeetingPlace& operator=(const MeetingPlace&) = delete;

    std::string socket() const { return directory_ + "/memif.sock"; }
    /// Returns the device string of the near end there.
    std::string near_device() const;
    std::string far_device() const;

  private:
    std::string directory_;
};

/// The process that is started where no ports are named. Its destruction waits for its end.
class SecondProcess {
  public:
    /// Starts it on half of the CPUs, keeps this process to the others, and gives `options` the port of the
    /// near end. Throws UsageError when EAL's options were given, which would be for one process only.
    SecondProcess(PairOptions& options, const runtime::EalOptions& eal);
    /// The other process ends by itself when its socket is closed. One that does not is made to.
    ~SecondProcess();
    SecondProcess(const SecondProcess&) = delete;
    SecondProcess& operator=(const SecondProcess&) = delete;

    /// Its end of the talk, for a JsonChannel, which then owns it.
    int socket() const noexcept { return socket_; }

  private:
    bool ends_within(std::chrono::seconds patience) const;

    MeetingPlace meeting_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

}  // namespace spead::app
