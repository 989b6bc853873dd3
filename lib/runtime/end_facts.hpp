// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "runtime/consumers.hpp"
#include "runtime/end_conditions.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/port_set.hpp"
#include "runtime/sender_set.hpp"
#include "runtime/stream_set.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Refers to the objects that decide the end of a run, besides its counts.
struct EndSources {
    const Plan& plan;
    const PortSet& ports;
    const LcoreSet& lcores;
    const SenderSet& senders;
    const Consumers& consumers;
    const StreamSet& streams;
};

/// Returns the present facts for the end conditions. `now` counts since the start. `stays`: the run ends
/// neither with its sources nor with its senders. Main thread; changes nothing and never waits.
EndFacts end_facts(const EndSources& of, const stats::Snapshot& now, bool stays);

}  // namespace spead::runtime
