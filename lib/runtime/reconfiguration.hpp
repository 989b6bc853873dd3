// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "runtime/capture_set.hpp"
#include "runtime/change.hpp"
#include "runtime/change_assignment.hpp"
#include "runtime/change_steps.hpp"
#include "runtime/gather_engines.hpp"
#include "runtime/idling.hpp"
#include "runtime/port_opening.hpp"
#include "runtime/port_outages.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/snapshots.hpp"
#include "runtime/stream_set.hpp"

namespace spead::runtime {

/// Adds, removes, changes and moves streams and senders while others run: one change, or its undo.
///
/// Main thread only. Lcores take new tables between two bursts; no other thread touches what they own. Waits
/// end with the lcores' patience (LcoreSet), those of the ports' hosts (PortSet) and of next hops
/// (SenderSet). Removed streams are waited for up to 2 s.
class Reconfiguration {
  public:
    using Clock = std::chrono::steady_clock;

    /// Refers to the objects that it changes; all outlive it.
    struct Parts {
        Plan& plan;      ///< the plan that runs
        Layout& layout;  ///< of that plan
        PortOpening& opening;
        PortOutages& outages;
        PortSet& ports;
        LcoreSet& lcores;
        ReceiveQueues& queues;
        SenderSet& senders;
        StreamSet& streams;
        CaptureSet& captures;
        Idling& idling;
        Snapshots& snapshots;
        GatherEngines& engines;
        std::vector<std::string>& problems;
    };
    /// Limits the waits for lcores and removed senders, as the engine's hooks do.
    struct Patience {
        Clock::duration lcore{};
        Clock::duration longest_finish{};
    };

    Reconfiguration(const Parts& parts, const Patience& patience)
        : of_(parts),
          patience_(patience),
          assignment_({parts.plan, parts.layout, parts.ports, parts.lcores, parts.queues}) {}

    /// Changes the run to the wanted plan. Throws Error: then the former state is restored, unless failed().
    void carry_out(const Plan& wanted);
    /// Closes ports that nothing uses any more, if ports may come and no engine knows their memory. Throws
    /// LcoreLost. Call it after a change, and at every round: some have to wait.
    void close_unused_ports();
    /// Returns whether a change could be neither carried out nor undone: the run has to end.
    bool failed() const noexcept { return failed_; }

  private:
    struct Target {
        Plan plan;
        QueueAssignment queues;
    };

    void check(const Plan& wanted, const Change& change) const;
    void add_steps(ChangeSteps& steps, const Target& before, const Target& wanted, const Change& change,
                   StreamSet::Fresh& fresh);
    void move_streams(const Target& to, const Change& change, StreamSet::Fresh fresh);
    void move_back(const Target& before);
    void start_captures(const Change& change);
    void stop_captures(const Change& change);
    void set_idling();
    void wait_for_leaving();

    const Parts of_;
    const Patience patience_;
    const ChangeAssignment assignment_;
    bool failed_ = false;
};

}  // namespace spead::runtime
