// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "runtime/end_conditions.hpp"
#include "runtime/engine.hpp"
#include "runtime/idling.hpp"
#include "runtime/lcore_counts.hpp"
#include "runtime/port_opening.hpp"
#include "runtime/port_outages.hpp"
#include "runtime/reconfiguration.hpp"
#include "runtime/run_parts.hpp"
#include "runtime/shutdown.hpp"
#include "runtime/snapshots.hpp"

/// Holds an Engine's objects: the parts of a run, and the objects that watch, change and end them. Private to
/// lib/runtime/engine*.cpp.
namespace spead::runtime {

struct Engine::State {
    using Clock = std::chrono::steady_clock;

    State(const Plan& plan, const Layout& layout, const EngineHooks& s) : hooks(s), parts(plan, layout, s) {}

    std::optional<Reason> step(const std::function<void(const stats::Snapshot&)>& tick);
    /// Throws Error before the start and after the end.
    void need_running() const;

    const EngineHooks hooks;
    RunParts parts;
    LcoreCounts counts{parts.plan, parts.clock, parts.lcores, parts.ports, parts.senders};
    Snapshots snapshots{{parts.plan, parts.layout, parts.clock, parts.ports, parts.lcores, parts.streams,
                         parts.senders, parts.captures, parts.health, parts.engines},
                        counts,
                        hooks.by_configuration,
                        hooks.settings};
    Idling idling{parts.lcores, parts.queues, parts.senders};
    PortOpening opening{
        {parts.plan, parts.layout, parts.ports, parts.lcores, parts.queues, parts.senders, parts.engines},
        hooks.drivers};
    PortOutages outages{{parts.plan, parts.layout, parts.ports, parts.lcores, parts.queues, parts.senders,
                         snapshots, parts.engines}};
    Reconfiguration reconfiguration{
        {parts.plan, parts.layout, opening, outages, parts.ports, parts.lcores, parts.queues, parts.senders,
         parts.streams, parts.captures, idling, snapshots, parts.engines, parts.notes.problems},
        {hooks.lcore_patience, hooks.longest_finish}};
    Shutdown shutdown{
        {parts.plan, parts.clock, parts.ports, parts.lcores, parts.queues, parts.senders, parts.consumers,
         parts.streams, parts.captures, counts, snapshots, parts.notes, parts.engines},
        {hooks.port_patience, hooks.consumer_patience, hooks.holder_patience, hooks.longest_finish}};
    EndConditions ends;
    Executor* executor = nullptr;  ///< posts requests of other threads
    bool interrupted = false;
    bool ended = false;  ///< lcores have ended
    Clock::time_point next_tick{};
};

}  // namespace spead::runtime
