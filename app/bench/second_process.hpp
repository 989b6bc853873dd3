// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>

#include "app/bench/bench_pair.hpp"
#include "app/bench/pair_placement.hpp"
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

/// Places both processes on the CPUs of this one, and keeps the calling thread to those of the near end.
/// Gives `options` the near end's lcore.
PairPlacement take_near_end(PairOptions& options);

/// Owns the process that is started when no ports are named. The destructor waits for its end.
class SecondProcess {
  public:
    /// Starts it on its CPUs, keeps this process to its own (place_pair), and gives `options` the port and
    /// the lcore of the near end. Throws UsageError when EAL options were given, which would be for one
    /// process only.
    SecondProcess(PairOptions& options, const runtime::EalOptions& eal);
    /// Closes the socket, which ends the other process. If it does not end, kills it.
    ~SecondProcess();
    SecondProcess(const SecondProcess&) = delete;
    SecondProcess& operator=(const SecondProcess&) = delete;

    /// Returns its end of the connection, for a JsonChannel, which then owns it.
    int socket() const noexcept { return socket_; }
    const PairPlacement& placement() const noexcept { return placement_; }

  private:
    bool ends_within(std::chrono::seconds patience) const;

    MeetingPlace meeting_;
    PairPlacement placement_;
    pid_t pid_ = -1;
    int socket_ = -1;
};

}  // namespace spead::app
