// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "memory/region.hpp"
#include "runtime/capture_set.hpp"
#include "runtime/consumers.hpp"
#include "runtime/end_conditions.hpp"
#include "runtime/engine.hpp"
#include "runtime/event_reporter.hpp"
#include "runtime/health_monitor.hpp"
#include "runtime/idling.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/port_outages.hpp"
#include "runtime/port_set.hpp"
#include "runtime/receive_queues.hpp"
#include "runtime/reconfiguration.hpp"
#include "runtime/run_notes.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/shutdown.hpp"
#include "runtime/snapshots.hpp"
#include "runtime/stream_set.hpp"
#include "runtime/waits.hpp"

/// What an Engine owns, in the order in which it may be destroyed (backwards). Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

using Clock = std::chrono::steady_clock;

struct Engine::State {
    State(const Plan& p, const Layout& l, const Surroundings& s);

    void make_workers();
    void launch();
    void report_silence(const Worker& w, bool silent);
    std::optional<Reason> step(const std::function<void(const stats::Snapshot&)>& tick);
    EndFacts end_facts(const stats::Snapshot& now);
    bool sinks_over() const;
    bool everything_received(const stats::Snapshot& now) const;
    void need_running() const;

    Plan plan;      ///< as it is now
    Layout layout;  ///< of it
    const Surroundings surroundings;
    RunClock clock;
    RunNotes notes;
    memory::RegionTable regions;
    PortSet ports;  ///< as plan.ports
    LcoreSet lcores;
    EventReporter events;
    ReceiveQueues queues{lcores, ports};
    SenderSet senders{lcores, ports, regions, surroundings.make_producer, notes.problems};
    Consumers consumers;
    StreamSet streams;
    CaptureSet captures{lcores, notes.problems};
    bool starting = true;  ///< launch() has not come to its end
    bool ended = false;    ///< lcores have ended
    bool interrupted = false;
    EndConditions ends;
    Executor* executor = nullptr;  ///< posts what others want done
    HealthMonitor health{events};
    LcoreCounts counts{plan, clock, lcores, ports, senders};
    Snapshots snapshots{{plan, clock, ports, lcores, streams, senders, captures, health},
                        counts,
                        surroundings.by_configuration};
    Idling idling{lcores, queues, senders};
    Reconfiguration reconfiguration{
        {plan, layout, ports, lcores, queues, senders, streams, captures, idling, snapshots, notes.problems},
        {surroundings.lcore_patience, surroundings.longest_finish}};
    PortOutages outages{{plan, layout, ports, lcores, queues, senders, snapshots}};
    Shutdown shutdown{
        {plan, clock, ports, lcores, queues, senders, consumers, streams, captures, counts, snapshots, notes},
        {surroundings.port_patience, surroundings.consumer_patience, surroundings.holder_patience,
         surroundings.longest_finish}};
    Clock::time_point next_tick{};
};

}  // namespace spead::runtime
