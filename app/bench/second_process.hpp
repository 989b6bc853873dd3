// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>

#include "app/bench/bench_pair.hpp"
#include "runtime/eal.hpp"

/// Runs the far end as a process of its own, on the other side of a memif.
namespace spead::app {

/// Makes a directory for the socket of two processes, which no other user may enter; removed on destruction.
class MeetingPlace {
  public:
    /// Makes the directory. Throws Error.
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

/// Owns the process that is started when no ports are named. The destructor waits for its end.
class SecondProcess {
  public:
    /// Starts it on half of the CPUs, keeps this process to the others, and gives `options` the port of the
    /// near end. Throws UsageError when EAL options were given, which would be for one process only.
    SecondProcess(PairOptions& options, const runtime::EalOptions& eal);
    /// Closes the socket, which ends the other process. If it does not end, kills it.
    ~SecondProcess();
    SecondProcess(const SecondProcess&) = delete;
    SecondProcess& operator=(const SecondProcess&) = delete;

    /// Returns its end of the connection, for a JsonChannel, which then owns it.
    int socket() const noexcept { return socket_; }

  private:
    bool ends_within(std::chrono::seconds patience) const;

    MeetingPlace meeting_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

}  // namespace spead::app
