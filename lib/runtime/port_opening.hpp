// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "port/driver.hpp"
#include "runtime/gather_engines.hpp"
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
/// plan, even if the change that asked for it fails.
class PortOpening {
  public:
    /// Refers to the objects that it changes; all outlive it.
    struct Parts {
        Plan& plan;      ///< the plan that runs
        Layout& layout;  ///< of that plan
        PortSet& ports;
        LcoreSet& lcores;
        ReceiveQueues& queues;
        SenderSet& senders;
        GatherEngines& engines;
    };

    /// Takes the drivers of ports that may be added; empty: none may.
    PortOpening(const Parts& parts, std::span<const port::Driver* const> drivers)
        : of_(parts), drivers_(drivers) {}

    bool possible() const noexcept { return !drivers_.empty(); }

    /// Opens and starts the ports of the wanted plan that are missing in the plan, and appends them there.
    /// Throws Error; then the ports before the failed one are part of the plan.
    void open_new(const Plan& wanted);

  private:
    std::vector<unsigned> cpus_of(const Plan& wanted, const PortPlan& port) const;
    void add(const PortPlan& plan, const port::PlannedPort& planned, const std::vector<unsigned>& cpus);

    const Parts of_;
    const std::span<const port::Driver* const> drivers_;
};

}  // namespace spead::runtime
