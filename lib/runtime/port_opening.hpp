// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "port/driver.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"

namespace spead::runtime {

/// Opens ports while others run.
///
/// Main thread only. Waits end with the lcores' patience (LcoreSet). A port that was opened stays in the
/// plan, whatever becomes of the change that asked for it.
class PortOpening {
  public:
    /// What it changes; all of it outlives the object.
    struct Parts {
        Plan& plan;      ///< that is carried out
        Layout& layout;  ///< of it
        PortSet& ports;
        LcoreSet& lcores;
        ReceiveQueues& queues;
        SenderSet& senders;
    };

    /// `drivers`: families of the ports that may come; empty: none may.
    PortOpening(const Parts& parts, std::span<const port::Driver* const> drivers)
        : of_(parts), drivers_(drivers) {}

    bool possible() const noexcept { return !drivers_.empty(); }

    /// Opens and starts the ports of the wanted plan that are not among those of the plan, which they follow.
    /// Throws Error; ports before the one that failed are part of the plan then.
    void open_new(const Plan& wanted);

  private:
    std::vector<unsigned> cpus_of(const Plan& wanted, const PortPlan& port) const;
    void add(const PortPlan& plan, const port::PlannedPort& planned, const std::vector<unsigned>& cpus);

    const Parts of_;
    const std::span<const port::Driver* const> drivers_;
};

}  // namespace spead::runtime
