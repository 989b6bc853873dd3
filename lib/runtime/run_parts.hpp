// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "memory/region.hpp"
#include "runtime/capture_set.hpp"
#include "runtime/consumers.hpp"
#include "runtime/event_reporter.hpp"
#include "runtime/health_monitor.hpp"
#include "runtime/layout.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/run_clock.hpp"
#include "runtime/run_notes.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream_set.hpp"

namespace spead::runtime {

struct EngineHooks;

/// Holds the parts of a run, in the reverse order of their destruction. Only the engine has all of them;
/// every other object gets the parts that it needs.
///
/// Main thread only. Waits at the start end with the lcores' patience (LcoreSet), that of the ports' hosts
/// (PortSet) and of next hops (SenderSet).
struct RunParts {
    RunParts(const Plan& p, const Layout& l, const EngineHooks& s);

    /// Opens the ports and allocates all memory. `interrupt_fd` ends waits; -1: none. Throws Error.
    void make(int interrupt_fd);
    /// Starts ports, lcores, consumers and senders. Throws Error.
    void launch(int interrupt_fd);
    /// Looks whether engines move payload, and what waits for one that does not. Call it at every round.
    void watch_engines();
    /// Returns remarks for the user that are not errors; of ports only those that the layout lacks.
    std::vector<std::string> remarks() const;

    Plan plan;      ///< at present
    Layout layout;  ///< of that plan
    RunClock clock;
    RunNotes notes;
    memory::RegionTable regions;
    PortSet ports;  ///< in the order of plan.ports
    LcoreSet lcores;
    EventReporter events;
    ReceiveQueues queues{lcores, ports};
    SenderSet senders;
    Consumers consumers;
    GatherEngines engines;
    StreamSet streams;
    CaptureSet captures{lcores, notes.problems};
    HealthMonitor health{events};

  private:
    void report_silence(const Worker& w, bool silent);
    void note_fetched();
    void report_stall(HeapEngine engine, bool stalled, const EngineWatch& watch);
};

}  // namespace spead::runtime
