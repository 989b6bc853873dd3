// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "runtime/change.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"

namespace spead::runtime {

/// Assigns the lcores and queues of a running process to the streams of another plan.
///
/// Main thread only; changes nothing and never waits.
class ChangeAssignment {
  public:
    using Cpus = std::vector<std::vector<unsigned>>;  ///< of lcores, by stream

    /// Refers to the running objects. All of them outlive the assignment.
    struct Parts {
        const Plan& plan;
        const Layout& layout;
        const PortSet& ports;
        const LcoreSet& lcores;
        const ReceiveQueues& queues;
    };

    explicit ChangeAssignment(const Parts& parts) : of_(parts) {}

    /// Returns the CPUs of the lcores for each stream of the wanted plan: the former ones, those that it
    /// names, or the least loaded one of its port. Throws Error when there is no room.
    Cpus cpus_of(const Plan& wanted, const Change& change) const;
    /// Returns a new queue assignment for the same ports, queues and lcores. Unchanged streams keep their
    /// queues.
    QueueAssignment queues_of(const Plan& wanted, const Cpus& cpus) const;

  private:
    std::vector<unsigned> cpus_for(const ReceivePlan& r) const;
    void check_room(const ReceivePlan& r, const std::vector<unsigned>& cpus) const;
    void check_lossless(const Plan& wanted, const Change& change, const Cpus& cpus) const;

    const Parts of_;
};

}  // namespace spead::runtime
